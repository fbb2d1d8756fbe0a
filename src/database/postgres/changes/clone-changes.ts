import type { RecordedStatement } from "../clone/definition-record.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { beginExact } from "./exact-session.ts";
import { changedRows, isUntouched, type RowChange, type RowSides } from "./row-comparison.ts";
import { type SequenceChange, sequenceChanges } from "./sequences.ts";
import { hasSameColumns, rowText, type TableShape, tableName, tableShapes } from "./table-shapes.ts";

/** The rows that differ in one table. */
export interface TableChange extends TableShape {
  /**
   * The columns, counted from 0, whose old values a landing checks: those that the table had before, with
   * the same type.
   */
  readonly checked: readonly number[];
  readonly rows: readonly RowChange[];
}

/** A table that goes, or loses columns, by a statement: all of its rows must be those that the base has. */
export interface WholeTable extends TableShape {
  readonly digest: string;
}

/** Everything that leads from one state of a database to another. All of it lands in one transaction. */
export interface CloneChanges {
  /** Run first, in order. */
  readonly statements: readonly RecordedStatement[];
  readonly whole: readonly WholeTable[];
  readonly tables: readonly TableChange[];
  readonly sequences: readonly SequenceChange[];
}

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
    const rows = await changedRows(sides, table);
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

/** The changes that lead back, where no statement changed definitions. */
export function reversed({ tables, sequences }: Pick<CloneChanges, "tables" | "sequences">): CloneChanges {
  return {
    statements: [],
    whole: [],
    tables: tables.map((table) => ({
      ...table,
      checked: table.columns.map((_, at) => at),
      rows: table.rows.map(({ before, after, copies }) => ({
        ...(after !== undefined && { before: after }),
        ...(before !== undefined && { after: before }),
        ...(copies !== undefined && { copies }),
      })),
    })),
    sequences: sequences.map(({ before, after, ...name }) => ({ ...name, before: after, after: before })),
  };
}

export function countChanges({ tables, sequences }: CloneChanges): number {
  return tables.reduce((sum, { rows }) => sum + rows.length, 0) + sequences.length;
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
