import type { ChangeOperation } from "../../../core/change.ts";
import { statementsOf } from "../../server/server-statements.ts";
import { tablePath } from "../changes/row-paths.ts";
import type { TableShape } from "../changes/table-shapes.ts";
import type { Definition } from "./archive-entries.ts";
import type { RecordedStatement } from "./definition-record.ts";
import { quotedName } from "./quoting.ts";

/** A definition that differs. */
export interface DefinitionChange {
  readonly path: string;
  readonly type: string;
  readonly operation: Exclude<ChangeOperation, "typechanged">;
  readonly before?: Definition;
  readonly after?: Definition;
}

/** The definitions that differ, those that come or change in the order in which they can be made. */
export function changedDefinitions(
  before: readonly Definition[],
  after: readonly Definition[],
): DefinitionChange[] {
  const [old, fresh] = [byIdentity(before), byIdentity(after)];
  const identities = [...new Set([...fresh.keys(), ...old.keys()])];
  return identities.flatMap((identity) => {
    const [was, is] = [old.get(identity), fresh.get(identity)];
    const one = is ?? was;
    if (one === undefined || isSame(was, is)) return [];
    return [
      {
        path: definitionPath(one),
        type: one.type,
        operation: was === undefined ? "added" : is === undefined ? "deleted" : "modified",
        ...(was !== undefined && { before: was }),
        ...(is !== undefined && { after: is }),
      } as const,
    ];
  });
}

/**
 * Statements that should lead from the definitions after a change to those before it. Whether they do is
 * tried, because not every change can be taken back by statements.
 */
export function inverseStatements(
  changes: readonly DefinitionChange[],
  { before, after }: { readonly before: readonly TableShape[]; readonly after: readonly TableShape[] },
): RecordedStatement[] {
  const isColumns = ({ type, operation }: DefinitionChange) => type === "TABLE" && operation === "modified";
  const others = changes.filter((change) => !isColumns(change));
  const drops = others
    .flatMap(({ after: made }) => (made === undefined ? [] : statements(made, dropOf(made))))
    .reverse();
  const columns = changes.filter(isColumns).flatMap((change) => columnDrops(change, before, after));
  const again = others
    .filter(({ before: was }) => was !== undefined)
    .flatMap(({ before: was }) => (was === undefined ? [] : statements(was, was.sql)));
  return [...drops, ...columns, ...again];
}

/** The statements that remove a definition; an archive has none for comments and privileges. */
function dropOf({ type, sql, drop }: Definition): string {
  if (type === "COMMENT") return sql.replace(/^(COMMENT ON .*?) IS E?'.*$/s, "$1 IS NULL;");
  if (type !== "ACL") return drop;
  return sql
    .split("\n")
    .reverse()
    .join("\n")
    .replaceAll(
      /^(?:GRANT|REVOKE) .*? ON (.*) (TO|FROM) (.*?)(?: WITH GRANT OPTION)?;$/gm,
      (_, object, way, role) =>
        way === "TO" ? `REVOKE ALL ON ${object} FROM ${role};` : `GRANT ALL ON ${object} TO ${role};`,
    );
}

function columnDrops(
  { before, after }: DefinitionChange,
  tablesBefore: readonly TableShape[],
  tablesAfter: readonly TableShape[],
): RecordedStatement[] {
  if (before === undefined || after === undefined) return [];
  const of = (tables: readonly TableShape[], { schema, name }: Definition) =>
    tables.find((table) => table.schema === schema && table.name === name);
  const [old, fresh] = [of(tablesBefore, before), of(tablesAfter, after)];
  return (fresh?.columns ?? [])
    .filter(({ name }) => old?.columns.some((column) => column.name === name) === false)
    .map(({ name }) => ({
      sql: `ALTER TABLE ONLY ${quotedName(after.schema)}.${quotedName(after.name)} DROP COLUMN ${quotedName(name)}`,
      role: after.owner,
      searchPath: "",
    }));
}

/** An entry of an archive may have several statements; the server takes one at a time. */
function statements({ owner }: Definition, sql: string): RecordedStatement[] {
  return statementsOf(sql, "postgres").map((each) => ({
    sql: each.sql,
    ...(owner !== "" && { role: owner }),
    searchPath: "",
  }));
}

function definitionPath({ type, schema, name }: Definition): string {
  const path = tablePath({ schema: schema === "" ? "public" : schema, name });
  return type === "TABLE" ? path : `${type.toLowerCase()} ${path}`;
}

function byIdentity(definitions: readonly Definition[]): Map<string, Definition> {
  const found = new Map<string, Definition>();
  for (const definition of definitions) {
    const identity = [definition.type, definition.schema, definition.name];
    // Such as two comments on objects of the same name.
    for (let n = 0; ; n += 1) {
      const key = JSON.stringify([...identity, n]);
      if (found.has(key)) continue;
      found.set(key, definition);
      break;
    }
  }
  return found;
}

function isSame(a: Definition | undefined, b: Definition | undefined): boolean {
  return a?.sql === b?.sql && a?.owner === b?.owner;
}
