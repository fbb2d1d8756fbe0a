import type { Conflict } from "../../../core/errors/errors.ts";
import type { BrokenReference } from "../foreign-keys.ts";
import { escapedName, keyOf, rowPath } from "../landing-conflicts.ts";
import { rowsOf, sameIdentity } from "../row-comparison.ts";
import { type ChangedTable, changedTables, recordedRows } from "../sqlite-changes.ts";
import { quoted, type SqliteDatabase } from "../sqlite-database.ts";
import { tableName } from "../sqlite-schema.ts";

/**
 * What the plan changed and another writer's change made wrong: rows of the plan that refer to missing rows,
 * and rows that the plan deletes or changes and another writer's row refers to. The record has landed in
 * `main`.
 */
export function referenceConflicts(
  db: SqliteDatabase,
  record: string,
  broken: Iterable<BrokenReference>,
): Conflict[] {
  const tables = changedTables(db, record);
  const of = (name: string) => tables.find((table) => table.name.toLowerCase() === name.toLowerCase());
  return [...broken].flatMap((reference) => {
    const own = ownPath(db, record, of(reference.table), reference);
    if (own !== undefined) return [{ path: own, why: `it refers to a missing row of ${reference.parent}` }];
    const why = `a row of ${reference.table} refers to it now`;
    return parentPaths(db, record, of(reference.parent), reference).map((path) => ({ path, why }));
  });
}

/** The path of the referring row, if the plan changes it. */
function ownPath(
  db: SqliteDatabase,
  record: string,
  table: ChangedTable | undefined,
  { row }: BrokenReference,
): string | undefined {
  const shape = table?.after;
  if (table === undefined || shape === undefined) return undefined;
  // A table without rowids does not tell which row it is.
  if (table.whole || row === null) return escapedName(table.name);
  const [live, fresh] = [rowsOf("main", shape), recordedRows(record, "after", table.n, shape)];
  const [key] = db.rows(
    `SELECT ${keyOf("f", fresh, shape)} FROM ${live.from} AS o JOIN ${fresh.from} AS f
     ON ${sameIdentity(["f", fresh], ["o", live], shape.identity)} WHERE o.${live.rowid} = ?`,
    row,
  );
  return key === undefined ? undefined : rowPath(table.name, key);
}

/** The paths of the rows that the plan deleted or changed, and to which the row refers. */
function parentPaths(
  db: SqliteDatabase,
  record: string,
  parent: ChangedTable | undefined,
  { table, row, key, ...reference }: BrokenReference,
): string[] {
  const shape = parent?.before;
  if (parent === undefined || shape === undefined || parent.whole || row === null)
    return [escapedName(parent?.name ?? reference.parent)];
  const named = (name: string) => `'${name.replaceAll("'", "''")}'`;
  const columns = db.rows(
    `SELECT "from", coalesce("to", (SELECT name FROM pragma_table_xinfo(${named(parent.name)}, 'main') WHERE pk = seq + 1))
     FROM pragma_foreign_key_list(${named(table)}, 'main') WHERE id = ?`,
    key,
  );
  const at = (column: string) =>
    shape.columns.findIndex((name) => name.toLowerCase() === column.toLowerCase());
  const refers = columns.map(([from, to]) => `this.c${at(String(to))} = o.${quoted(String(from))}`);
  const old = recordedRows(record, "before", parent.n, shape);
  const rows = db.rows(
    `SELECT ${keyOf("this", old, shape)} FROM ${old.from} AS this, ${tableName("main", table)} AS o
     WHERE o.rowid = ? AND ${refers.join(" AND ")}`,
    row,
  );
  return rows.length === 0 ? [escapedName(parent.name)] : rows.map((found) => rowPath(parent.name, found));
}
