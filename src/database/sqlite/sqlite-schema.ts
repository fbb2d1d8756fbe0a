import type { DatabaseValue } from "../../core/values/query.ts";
import { quoted, type SqliteDatabase } from "./sqlite-database.ts";

/** The table that marks, for a short time, that a landing is in a database. It is never part of the data. */
export const MARKER_TABLE = "_drydock_landing";

/**
 * An object of a schema: a row of sqlite_schema with its text. Objects that SQLite makes by itself are left
 * out.
 */
export interface SchemaObject {
  readonly type: "table" | "index" | "view" | "trigger";
  readonly name: string;
  /** The table or view that the object belongs to. */
  readonly table: string;
  readonly sql: string;
  /** Whether a module of SQLite implements the table, in tables of its own. */
  readonly isVirtual: boolean;
}

/** The facts of a table that comparing and copying its rows needs. */
export interface TableShape {
  readonly name: string;
  /** The stored columns, without generated ones. */
  readonly columns: readonly string[];
  /** The name of the rowid; undefined if there is none, or if columns take every name for it. */
  readonly rowid: string | undefined;
  /** The columns of the primary key in order; empty if the rowid is the only key. */
  readonly key: readonly KeyColumn[];
}

export interface KeyColumn {
  readonly name: string;
  readonly collation: string;
}

/** All objects of a schema, in the order of their creation. `database` is its name in the connection. */
export function schemaObjects(db: SqliteDatabase, database: string): SchemaObject[] {
  const rows = db.rows(
    `SELECT type, name, tbl_name, sql, rootpage FROM ${database}.sqlite_schema
     WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND tbl_name <> '${MARKER_TABLE}' ORDER BY rowid`,
  );
  return rows.map(([type, name, table, sql, root]) => ({
    type: String(type) as SchemaObject["type"],
    name: String(name),
    table: String(table),
    sql: String(sql),
    isVirtual: type === "table" && !root,
  }));
}

/** The text of a definition; undefined if the object does not exist. */
export function definitionOf(
  db: SqliteDatabase,
  database: string,
  type: SchemaObject["type"],
  name: string,
): string | undefined {
  const sql = db.value(`SELECT sql FROM ${database}.sqlite_schema WHERE type = ? AND name = ?`, type, name);
  return sql === null ? undefined : String(sql);
}

/** Whether one of SQLite's own tables exists. */
export function hasTable(db: SqliteDatabase, database: string, name: string): boolean {
  return (
    db.number(`SELECT count(*) FROM ${database}.sqlite_schema WHERE type = 'table' AND name = ?`, name) > 0
  );
}

export function tableShape(db: SqliteDatabase, database: string, name: string): TableShape {
  const argument = `'${name.replaceAll("'", "''")}'`;
  const columns = db
    .rows(`SELECT name, pk, hidden FROM pragma_table_xinfo(${argument}, '${database}')`)
    .map(([column, pk, hidden]) => ({ name: String(column), pk: Number(pk), hidden: Number(hidden) }));
  const withoutRowid =
    db.number(`SELECT wr FROM pragma_table_list(${argument}) WHERE schema = '${database}'`) === 1;
  return {
    name,
    columns: columns.filter(({ hidden }) => hidden === 0).map((column) => column.name),
    rowid: withoutRowid ? undefined : freeRowidName(columns.map((column) => column.name)),
    key: keyColumns(db, database, argument),
  };
}

/** The primary key, unless it is the rowid itself, which needs no index. */
function keyColumns(db: SqliteDatabase, database: string, argument: string): KeyColumn[] {
  const index = db.value(
    `SELECT name FROM pragma_index_list(${argument}, '${database}') WHERE origin = 'pk'`,
  );
  if (index === null) return [];
  const name = `'${String(index).replaceAll("'", "''")}'`;
  const columns: DatabaseValue[][] = db.rows(
    `SELECT name, coll FROM pragma_index_xinfo(${name}, '${database}') WHERE key = 1 ORDER BY seqno`,
  );
  return columns.map(([column, collation]) => ({ name: String(column), collation: String(collation) }));
}

/** Whether the rowid is the primary key. Otherwise it means nothing, and VACUUM may change it. */
export function hasRowidKey(db: SqliteDatabase, database: string, name: string): boolean {
  const argument = `'${name.replaceAll("'", "''")}'`;
  const columns = db.number(
    `SELECT count(*) FROM pragma_table_xinfo(${argument}, '${database}') WHERE pk > 0`,
  );
  return columns === 1 && keyColumns(db, database, argument).length === 0;
}

function freeRowidName(columns: readonly string[]): string | undefined {
  const taken = new Set(columns.map((column) => column.toLowerCase()));
  return ["rowid", "_rowid_", "oid"].find((name) => !taken.has(name));
}

/** The numbers in the header of a database that programs use. */
export const HEADER_NUMBERS = ["user_version", "application_id"] as const;

export function headerNumber(
  db: SqliteDatabase,
  database: string,
  name: (typeof HEADER_NUMBERS)[number],
): number {
  return db.number(`PRAGMA ${database}.${name}`);
}

/** `database`.`table`, quoted for SQL. */
export function tableName(database: string, name: string): string {
  return `${database}.${quoted(name)}`;
}
