import { quotedName } from "../clone/quoting.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { keyColumns, rowText, type TableShape, tableName } from "./table-shapes.ts";

/** The values of a row as text, in the order of the columns. */
export type RowValues = readonly (string | null)[];

/** One row that differs. */
export interface RowChange {
  readonly before?: RowValues;
  readonly after?: RowValues;
  /** How many such rows, in a table whose rows nothing tells apart. Default: 1. */
  readonly copies?: number;
}

const PAGE = 5000;

/** Two databases whose rows are compared; each connection is in a transaction of `beginExact`. */
export interface RowSides {
  readonly before: PostgresConnection;
  readonly after: PostgresConnection;
}

/**
 * Whether no row of a table was written since the base was made: by the number of each row's transaction. A
 * row that is older was copied with the base; if there are as many, none is gone.
 */
export async function isUntouched(
  { before, after }: RowSides,
  table: TableShape,
  since: string,
): Promise<boolean> {
  const from = `FROM ONLY ${tableName(table)}`;
  const old = await after.run(`SELECT count(*), count(*) FILTER (WHERE age(xmin) <= age($1::xid)) ${from}`, [
    since,
  ]);
  const [rows, fresh] = (old.rows[0] ?? []).map(String);
  if (fresh !== "0") return false;
  const base = await before.run(`SELECT count(*) ${from}`);
  return String(base.rows[0]?.[0]) === rows;
}

/** The rows that differ between two tables with the same columns, in the order of the bytes of their keys. */
export async function changedRows(sides: RowSides, table: TableShape): Promise<RowChange[]> {
  const differing: Differing[] = [];
  for await (const each of differingKeys(sides, table)) differing.push(each);
  if (table.key === undefined) return await copiesOf(sides, table, differing);
  const [before, after] = await Promise.all([
    rowsAt(
      sides.before,
      table,
      differing.filter((each) => each.before !== undefined),
    ),
    rowsAt(
      sides.after,
      table,
      differing.filter((each) => each.after !== undefined),
    ),
  ]);
  return differing.map(({ key }) => {
    const [old, fresh] = [before.get(key), after.get(key)];
    return { ...(old !== undefined && { before: old }), ...(fresh !== undefined && { after: fresh }) };
  });
}

interface Differing {
  readonly key: string;
  /** The digest of the row, or how many there are. */
  readonly before?: string;
  readonly after?: string;
}

/** Walks through both tables in the same order. */
async function* differingKeys({ before, after }: RowSides, table: TableShape): AsyncGenerator<Differing> {
  const [left, right] = [digests(before, table), digests(after, table)];
  let [a, b] = [await left.next(), await right.next()];
  while (a.done !== true || b.done !== true) {
    const order = a.done === true ? 1 : b.done === true ? -1 : compareBytes(a.value.key, b.value.key);
    if (order < 0 && a.done !== true) yield { key: a.value.key, before: a.value.digest };
    else if (order > 0 && b.done !== true) yield { key: b.value.key, after: b.value.digest };
    else if (a.done !== true && b.done !== true && a.value.digest !== b.value.digest)
      yield { key: a.value.key, before: a.value.digest, after: b.value.digest };
    if (order <= 0) a = await left.next();
    if (order >= 0) b = await right.next();
  }
}

function compareBytes(a: string, b: string): number {
  return a === b ? 0 : Buffer.compare(Buffer.from(a), Buffer.from(b));
}

interface KeyDigest {
  readonly key: string;
  readonly digest: string;
}

async function* digests(connection: PostgresConnection, table: TableShape): AsyncGenerator<KeyDigest> {
  const key = rowText("this", keyColumns(table));
  const row = `convert_to(${rowText("this", table.columns)}, 'UTF8')`;
  const digest = table.key === undefined ? "count(*)::text" : `encode(sha256(${row}), 'hex')`;
  const grouped = table.key === undefined ? "GROUP BY 1" : "";
  const ordered = `SELECT key, digest FROM (SELECT ${key} AS key, ${digest} AS digest
    FROM ONLY ${tableName(table)} AS this ${grouped}) AS rows ORDER BY convert_to(key, 'UTF8')`;
  await connection.run(`DECLARE drydock_rows NO SCROLL CURSOR FOR ${ordered}`);
  for (;;) {
    const { rows } = await connection.run(`FETCH ${PAGE} FROM drydock_rows`);
    for (const [at, value] of rows) yield { key: String(at), digest: String(value) };
    if (rows.length < PAGE) break;
  }
  await connection.run("CLOSE drydock_rows");
}

async function rowsAt(
  connection: PostgresConnection,
  table: TableShape,
  wanted: readonly Differing[],
): Promise<Map<string, RowValues>> {
  const found = new Map<string, RowValues>();
  const key = rowText("this", keyColumns(table));
  const values = table.columns.map(({ name }) => `this.${quotedName(name)}::text`);
  for (let at = 0; at < wanted.length; at += PAGE) {
    const { rows } = await connection.run(
      `SELECT ${[key, ...values].join(", ")} FROM ONLY ${tableName(table)} AS this WHERE ${key} = ANY ($1)`,
      [wanted.slice(at, at + PAGE).map((each) => each.key)],
    );
    for (const [name, ...row] of rows)
      found.set(
        String(name),
        row.map((value) => (value === null ? null : String(value))),
      );
  }
  return found;
}

/** In a table without a key, rows come and go; none is modified. */
async function copiesOf(
  sides: RowSides,
  table: TableShape,
  differing: readonly Differing[],
): Promise<RowChange[]> {
  const count = ({ before = "0", after = "0" }: Differing) => Number(after) - Number(before);
  const added = differing.filter((each) => count(each) > 0);
  const deleted = differing.filter((each) => count(each) < 0);
  const before = await rowsAt(sides.before, table, deleted);
  const after = await rowsAt(sides.after, table, added);
  return differing.flatMap((each): RowChange[] => {
    const copies = Math.abs(count(each));
    const [old, fresh] = [before.get(each.key), after.get(each.key)];
    if (old !== undefined) return [{ before: old, copies }];
    return fresh === undefined ? [] : [{ after: fresh, copies }];
  });
}
