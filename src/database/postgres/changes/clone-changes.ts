import {
  type CloneChanges,
  hasSameColumns,
  type RecordedStatement,
  type TableChange,
  type TableShape,
  type WholeTable,
} from "../../server/clone/clone-changes.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { beginExact } from "./exact-session.ts";
import { isUntouched, type RowSides, rowChanges } from "./row-comparison.ts";
import { sequenceChanges } from "./sequences.ts";
import { rowText, tableName, tableShapes } from "./table-shapes.ts";

/** Two states of a database. */
export interface ComparedStates {
  /** What the original had. */
  readonly base: PostgresConnection;
  /** The base after the statements that change definitions; the base itself if there are none. */
  readonly stage: PostgresConnection;
  readonly work: PostgresConnection;
  readonly statements: readonly RecordedStatement[];
  /** The number of the transaction after which rows of the work are new; absent if that is not known. */
  readonly since?: string;
}

/** Compares two states. Each connection is used by nobody else. */
export async function compareStates(states: ComparedStates): Promise<CloneChanges> {
  const { base, stage, work, statements, since } = states;
  for (const connection of new Set([base, stage, work])) await beginExact(connection, "READ ONLY");
  const had = await tableShapes(base);
  const staged = stage === base ? had : await tableShapes(stage);
  const has = await tableShapes(work);
  const tables: TableChange[] = [];
  for (const table of has) {
    const from = staged.find((other) => isSameTable(other, table));
    if (from === undefined || !hasSameColumns(from, table)) continue;
    const earlier = had.find((other) => isSameTable(other, table));
    const sides: RowSides = { before: stage, after: work };
    const isAsBefore = earlier !== undefined && hasSameColumns(earlier, table);
    if (isAsBefore && since !== undefined && (await isUntouched(sides, table, since))) continue;
    const rows = await rowChanges(sides, table);
    if (rows.length > 0) tables.push({ ...table, checked: checkedColumns(table, earlier), rows });
  }
  const whole: WholeTable[] = [];
  for (const table of had) {
    const after = has.find((other) => isSameTable(other, table));
    if (after === undefined || losesColumns(table, after))
      whole.push({ ...table, digest: await contentDigest(base, table) });
  }
  const sequences = await sequenceChanges(stage, work);
  for (const connection of new Set([base, stage, work])) await connection.run("COMMIT");
  return { statements, whole, tables, sequences };
}

/** The digest of all rows of a table. */
export async function contentDigest(connection: PostgresConnection, table: TableShape): Promise<string> {
  const { rows } = await connection.run(
    `SELECT count(*) || ':' || coalesce(encode(sha256(string_agg(digest, ''::bytea ORDER BY digest)), 'hex'), '')
     FROM (SELECT sha256(convert_to(${rowText("this", table.columns)}, 'UTF8')) AS digest
       FROM ONLY ${tableName(table)} AS this) AS rows`,
  );
  return String(rows[0]?.[0]);
}

function isSameTable(a: TableShape, b: TableShape): boolean {
  return a.schema === b.schema && a.name === b.name;
}

function checkedColumns(table: TableShape, earlier: TableShape | undefined): number[] {
  return table.columns.flatMap(({ name, type }, at) =>
    earlier?.columns.some((other) => other.name === name && other.type === type) === true ? [at] : [],
  );
}

function losesColumns(before: TableShape, after: TableShape): boolean {
  return before.columns.some(
    ({ name, type }) => !after.columns.some((other) => other.name === name && other.type === type),
  );
}
