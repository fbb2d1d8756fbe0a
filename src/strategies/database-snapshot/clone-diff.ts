import type { Change, ChangeFacts } from "../../core/change.ts";
import type {
  CloneChanges,
  CloneWork,
  DefinitionChange,
  RowChange,
  RowValues,
  SequenceChange,
} from "../../database/server/clone/clone-changes.ts";
import { rowPath, tablePath } from "../../database/server/clone/row-paths.ts";
import { digestOf } from "../../system/data/digest.ts";

/**
 * The work in a clone as changes, in path order: rows as `table/key`, tables by their name, other definitions
 * as `type name`, and numbers of sequences.
 */
export function cloneDiff({ definitions, changes, whyNot }: CloneWork): Change[] {
  const warned = whyNot === undefined ? {} : { warnings: [`it can't land: ${whyNot}`] };
  return inOrder([
    ...definitions.map((change) => ({ ...definitionChange(change), ...warned })),
    ...rowChanges(changes),
  ]);
}

/** What landed, as changes: definitions by the statements that changed them. */
export function landedDiff(changes: CloneChanges): Change[] {
  const statements = changes.statements.map(
    ({ sql }, n): Change => ({
      path: `statement ${n + 1}`,
      operation: "modified",
      kind: "object",
      statement: sql,
    }),
  );
  return inOrder([...statements, ...rowChanges(changes)]);
}

export function sequencePath({ schema, name }: SequenceChange): string {
  return `sequence ${tablePath({ schema, name })}`;
}

function rowChanges({ tables, sequences }: CloneChanges): Change[] {
  const rows = tables.flatMap((table) =>
    table.rows.map((row): Change => ({ path: rowPath(table, row), kind: "row", ...sidesOf(row) })),
  );
  const numbers = sequences.map(
    (sequence): Change => ({
      path: sequencePath(sequence),
      operation: "modified",
      kind: "object",
      before: { digest: digestOf(sequence.before) },
      after: { digest: digestOf(sequence.after) },
      note: `last value ${sequence.before.split("|", 1)} -> ${sequence.after.split("|", 1)}`,
    }),
  );
  return [...rows, ...numbers];
}

function sidesOf({
  before,
  after,
  copies,
}: RowChange): Pick<Change, "operation" | "before" | "after" | "rows"> {
  const facts = (values: RowValues): ChangeFacts => ({ digest: digestOf(JSON.stringify(values)) });
  return {
    operation: before === undefined ? "added" : after === undefined ? "deleted" : "modified",
    ...(before !== undefined && { before: facts(before) }),
    ...(after !== undefined && { after: facts(after) }),
    ...(copies !== undefined && { rows: copies }),
  };
}

function definitionChange({ path, type, operation, before, after }: DefinitionChange): Change {
  const facts = (definition: { readonly sql: string; readonly owner: string }): ChangeFacts => ({
    digest: digestOf(JSON.stringify([definition.sql, definition.owner])),
  });
  return {
    path,
    operation,
    kind: type === "TABLE" ? "table" : "object",
    ...(before !== undefined && { before: facts(before) }),
    ...(after !== undefined && { after: facts(after) }),
  };
}

function inOrder(changes: readonly Change[]): Change[] {
  return changes.toSorted((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0));
}
