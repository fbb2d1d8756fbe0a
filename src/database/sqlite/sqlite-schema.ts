import type { DatabaseValue } from "../../core/values/query.ts";
import { quoted, type SqliteDatabase } from "./sqlite-database.ts";

/** How we mark, for a moment, that a landing is in a database. Never part of anybody's data. */
export const MARKER_TABLE = "_drydock_landing";

/**
 * Something that a schema holds: a row of sqlite_schema with its text. What SQLite makes by itself is left
 * out.
 */
export interface SchemaObject {
  readonly type: "table" | "index" | "view" | "trigger";
  readonly name: string;
  /** The table or view that it belongs to. */
  readonly table: string;
  readonly sql: string;
  /** A table that a module of SQLite keeps, in tables of its own. */
  readonly isVirtual: boolean;
}

/** What has to be known of a table to compare and copy its rows. */
export interface TableShape {
  readonly name: string;
  /** The columns that are stored; generated ones are not. */
  readonly columns: readonly string[];
  /**
   * By which name the rowid is reached; undefined if there is none, or every name for it is taken by a
   * column.
   */
  readonly rowid: string | undefined;
  /** The columns of the primary key in their order; empty if there is none but the rowid. */
  readonly key: readonly KeyColumn[];
}

export interface KeyColumn {
  readonly name: string;
  readonly collation: string;
}

/**
 * Everything in a schema, in the order in which it was made. `database` is the name of it in the connection.
 */
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

/** The text by which something is defined; undefined if it is not there. */
export function definitionOf(
  db: SqliteDatabase,
  database: string,
  type: SchemaObject["type"],
  name: string,
): string | undefined {
  const sql = db.value(`SELECT sql FROM ${database}.sqlite_schema WHERE type = ? AND name = ?`, type, name);
  return sql === null ? undefined : String(sql);
}

/** Whether a table that SQLite keeps for itself is there. */
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

function freeRowidName(columns: readonly string[]): string | undefined {
  const taken = new Set(columns.map((column) => column.toLowerCase()));
  return ["rowid", "_rowid_", "oid"].find((name) => !taken.has(name));
}

/** The numbers in the header of a database that programs keep there. */
export const HEADER_NUMBERS = ["user_version", "application_id"] as const;

export function headerNumber(
  db: SqliteDatabase,
  database: string,
  name: (typeof HEADER_NUMBERS)[number],
): number {
  return db.number(`PRAGMA ${database}.${name}`);
}

/** `database`.`table`, as SQL takes it. */
export function tableName(database: string, name: string): string {
  return `${database}.${quoted(name)}`;
}
