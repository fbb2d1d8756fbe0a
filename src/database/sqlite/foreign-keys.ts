import type { DatabaseValue } from "../../core/values/query.ts";
import { changedTables, recordedObjects } from "./sqlite-changes.ts";
import { SqliteDatabase } from "./sqlite-database.ts";
import { hasTable, schemaObjects } from "./sqlite-schema.ts";

/** A row that refers to a missing row. */
export interface BrokenReference {
  readonly table: string;
  /** The rowid of the row, NULL if the table has none. */
  readonly row: DatabaseValue;
  readonly parent: string;
  /** Which of the foreign keys of its table. */
  readonly key: number;
}

/** The rows of these tables that refer to missing rows. */
export function brokenReferences(
  db: SqliteDatabase,
  database: string,
  tables: readonly string[],
): Map<string, BrokenReference> {
  const broken = new Map<string, BrokenReference>();
  for (const table of tables) {
    const name = table.replaceAll("'", "''");
    const rows = db.rows(
      `SELECT "table", rowid, parent, fkid FROM pragma_foreign_key_check('${name}', '${database}')`,
    );
    for (const [from, row = null, parent, key] of rows)
      broken.set(`${from} ${row} ${parent} ${key}`, {
        ...{ table: String(from), row, parent: String(parent), key: Number(key) },
      });
  }
  return broken;
}

/**
 * The tables of `main` whose references a record can break: the changed ones, and those that refer to them.
 */
export function referringTables(db: SqliteDatabase, record: string): string[] {
  const changed = new Set(
    [...changedTables(db, record), ...recordedObjects(db, record).filter(({ type }) => type === "table")].map(
      ({ name }) => name.toLowerCase(),
    ),
  );
  return schemaObjects(db, "main")
    .filter(({ type, isVirtual }) => type === "table" && !isVirtual)
    .map(({ name }) => name)
    .filter((name) => {
      const parents = db
        .rows(`SELECT "table" FROM pragma_foreign_key_list('${name.replaceAll("'", "''")}', 'main')`)
        .map(([parent]) => String(parent).toLowerCase());
      return (
        parents.some((parent) => changed.has(parent)) ||
        (parents.length > 0 && changed.has(name.toLowerCase()))
      );
    });
}

/** Which of these references are broken in the database at this path. */
export function brokenIn(path: string, tables: readonly string[]): string[] {
  using db = new SqliteDatabase(path, "write");
  const there = tables.filter((table) => hasTable(db, "main", table));
  return [...brokenReferences(db, "main", there).keys()];
}
