import { changedDefinitions } from "../../server/clone/changed-definitions.ts";
import type { CloneWork, TableChange } from "../../server/clone/clone-changes.ts";
import { hasSameColumns } from "../../server/clone/clone-changes.ts";
import { changedRows } from "../../server/clone/row-comparison.ts";
import { asStored, beExact, beginReading } from "../changes/exact-session.ts";
import { TableRows } from "../changes/table-rows.ts";
import { tableShapes } from "../changes/table-shapes.ts";
import { triggerOf } from "../changes/table-triggers.ts";
import type { MysqlConnection } from "../mysql-connection.ts";
import { definitionsOf, sequenceStates } from "./definitions.ts";

/** As many names as people read. */
const MOST_NAMED = 3;

/** Compares two states of a database: the base of a clone, and the clone. */
export async function cloneWork(base: MysqlConnection, work: MysqlConnection): Promise<CloneWork> {
  for (const connection of [base, work]) {
    await beExact(connection);
    await beginReading(connection);
  }
  const definitions = changedDefinitions(await definitionsOf(base), await definitionsOf(work));
  const [had, has] = [await tableShapes(base), await tableShapes(work)];
  const [before, after] = [await sequenceStates(base), await sequenceStates(work)];
  const sequences = [...after].flatMap(([name, state]) => {
    const was = before.get(name);
    return was === undefined || was === state ? [] : [{ schema: "", name, before: was, after: state }];
  });
  for (const connection of [base, work]) await asStored(connection);
  const tables: TableChange[] = [];
  const reasons: string[] = [];
  for (const table of has) {
    const earlier = had.find(({ name }) => name === table.name);
    if (earlier === undefined || !hasSameColumns(earlier, table) || table.isForgotten) continue;
    const { whyNot, isForgotten: _, ...shape } = table;
    const sides = [new TableRows(base, shape), new TableRows(work, shape)] as const;
    const rows = await changedRows(...sides, { hasKey: shape.key !== undefined });
    if (rows.length === 0) continue;
    tables.push({ ...shape, checked: shape.columns.map((_, at) => at), rows });
    const trigger = await triggerOf(base, shape);
    if (whyNot !== undefined) reasons.push(`rows of ${table.name} were changed, but ${whyNot}`);
    else if (trigger !== undefined)
      reasons.push(`rows of ${table.name} were changed, whose trigger ${trigger} would run once more`);
    else if (rows.some((row) => JSON.stringify(row.before) === JSON.stringify(row.after)))
      reasons.push(`a row of ${table.name} was changed in a way that can't be written`);
  }
  for (const { name } of sequences)
    reasons.push(`the sequence ${name} was used, which no transaction can land`);
  if (definitions.length > 0) {
    const names = definitions.slice(0, MOST_NAMED).map(({ path }) => path);
    const more = definitions.length > MOST_NAMED ? " and others" : "";
    reasons.unshift(
      `definitions were changed (${names.join(", ")}${more}), and MariaDB commits each such statement by itself, so that it can't land together with rows: run the statements in the original, and begin a new plan there`,
    );
  }
  const [whyNot] = reasons;
  const changes = { statements: [], whole: [], tables, sequences };
  return { definitions, changes, ...(whyNot !== undefined && { whyNot }) };
}
