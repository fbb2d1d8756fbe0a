import type { RowValues } from "../../server/clone/clone-changes.ts";
import type { KeyDigest, RowSource } from "../../server/clone/row-comparison.ts";
import type { MysqlConnection } from "../mysql-connection.ts";
import { comparedLiteral, digestSql, keyOf, keySql, keyValues, selected, valuesOf } from "./exact-values.ts";
import { keyColumns, type MysqlTable, tableName } from "./table-shapes.ts";

/** As many rows as a statement names. */
const PAGE = 1000;

/** The rows of a table, in a session of `beExact` and `asStored`. */
export class TableRows implements RowSource {
  readonly #connection: MysqlConnection;
  readonly #table: MysqlTable;

  constructor(connection: MysqlConnection, table: MysqlTable) {
    this.#connection = connection;
    this.#table = table;
  }

  async *digests(): AsyncGenerator<KeyDigest> {
    const table = this.#table;
    const [digest, grouped] = table.key === undefined ? ["COUNT(*)", "GROUP BY 1"] : [digestSql(table), ""];
    const rows = this.#connection.stream(
      `SELECT ${keySql(table)} AS k, ${digest} FROM ${tableName(table)} ${grouped} ORDER BY k`,
    );
    for await (const [key, value] of rows) yield { key: String(key), digest: String(value) };
  }

  async rowsAt(keys: readonly string[]): Promise<Map<string, RowValues>> {
    const found = new Map<string, RowValues>();
    for (let at = 0; at < keys.length; at += PAGE)
      for (const values of await this.read(keys.slice(at, at + PAGE), ""))
        found.set(keyOf(this.#table, values), values);
    return found;
  }

  /** The rows with one of these keys, or with one that their unique index takes for the same. */
  async read(keys: readonly string[], lock: "FOR UPDATE" | ""): Promise<RowValues[]> {
    const columns = this.#table.columns.map(selected);
    const rows: RowValues[] = [];
    if (keys.length === 0) return rows;
    const sql = `SELECT ${columns.join(", ")} FROM ${tableName(this.#table)} WHERE ${this.isOneOf(keys)} ${lock}`;
    for await (const row of this.#connection.stream(sql)) rows.push(valuesOf(this.#table, row));
    return rows;
  }

  /** The condition for the rows with one of these keys. */
  isOneOf(keys: readonly string[]): string {
    const table = this.#table;
    if (table.key === undefined)
      return `${digestSql(table)} IN (${keys.map((key) => `'${key}'`).join(", ")})`;
    const columns = keyColumns(table);
    const names = columns.map(({ name }) => tableName({ name }));
    const given = keys.map((key) => {
      const values = keyValues(table, key);
      return `(${columns.map((column, n) => comparedLiteral(column, values[n] ?? null)).join(", ")})`;
    });
    return `(${names.join(", ")}) IN (${given.join(", ")})`;
  }
}
