import type { RowChange, RowValues, TableShape } from "../../server/clone/clone-changes.ts";
import { changedRows, type KeyDigest, type RowSource } from "../../server/clone/row-comparison.ts";
import { quotedName } from "../clone/quoting.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { keyColumns, rowText, tableName, valueText } from "./table-shapes.ts";

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
export async function rowChanges({ before, after }: RowSides, table: TableShape): Promise<RowChange[]> {
  const source = (connection: PostgresConnection): RowSource => ({
    digests: () => digests(connection, table),
    rowsAt: (keys) => rowsAt(connection, table, keys),
  });
  return await changedRows(source(before), source(after), { hasKey: table.key !== undefined });
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
  wanted: readonly string[],
): Promise<Map<string, RowValues>> {
  const found = new Map<string, RowValues>();
  const key = rowText("this", keyColumns(table));
  const values = table.columns.map((column) => valueText(`this.${quotedName(column.name)}`, column));
  for (let at = 0; at < wanted.length; at += PAGE) {
    const { rows } = await connection.run(
      `SELECT ${[key, ...values].join(", ")} FROM ONLY ${tableName(table)} AS this WHERE ${key} = ANY ($1)`,
      [wanted.slice(at, at + PAGE)],
    );
    for (const [name, ...row] of rows)
      found.set(
        String(name),
        row.map((value) => (value === null ? null : String(value))),
      );
  }
  return found;
}
