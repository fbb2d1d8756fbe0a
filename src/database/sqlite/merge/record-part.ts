import { type Direction, escapedName, keyOf, rowPath } from "../landing-conflicts.ts";
import {
  type ChangedTable,
  changedTables,
  type RecordedShape,
  recordedObjects,
  recordedRows,
  SIDES,
} from "../sqlite-changes.ts";
import type { SqliteDatabase } from "../sqlite-database.ts";

/**
 * Takes what has these paths out of a record, so that it lands without them. Whatever belongs to a table or a
 * view goes with it; of a table that is rebuilt, an index that is left out is made as it was.
 */
export function leaveOut(
  db: SqliteDatabase,
  record: string,
  { from, to }: Direction,
  isOut: (path: string) => boolean,
): void {
  const [tables, objects] = [changedTables(db, record), recordedObjects(db, record)];
  const owners = objects.filter(({ type }) => type === "table" || type === "view");
  const out = new Set(
    [...owners, ...tables].map(({ name }) => name).filter((name) => isOut(escapedName(name))),
  );
  const rebuilt = new Set(owners.map(({ name }) => name));
  for (const { type, name, table } of objects) {
    if (!out.has(table) && !isOut(escapedName(name))) continue;
    const which = [type, name];
    if (!out.has(table) && rebuilt.has(table) && name !== table)
      db.rows(`UPDATE ${record}.objects SET ${to} = ${from} WHERE type = ? AND name = ?`, ...which);
    else db.rows(`DELETE FROM ${record}.objects WHERE type = ? AND name = ?`, ...which);
  }
  for (const table of tables)
    if (out.has(table.name)) db.rows(`DELETE FROM ${record}.tables WHERE n = ?`, table.n);
    else if (!table.whole) leaveRowsOut(db, record, table, isOut);
  leaveNumbersOut(db, record, (path) => out.has(path.replace(/^sqlite_sequence\//, "")) || isOut(path));
}

function leaveNumbersOut(db: SqliteDatabase, record: string, isOut: (path: string) => boolean): void {
  for (const [name = null] of db.rows(`SELECT name FROM ${record}.sequences`))
    if (isOut(`sqlite_sequence/${name}`)) db.rows(`DELETE FROM ${record}.sequences WHERE name = ?`, name);
  for (const [name = null] of db.rows(`SELECT name FROM ${record}.numbers`))
    if (isOut(String(name))) db.rows(`DELETE FROM ${record}.numbers WHERE name = ?`, name);
  if (isOut("sqlite_stat1")) db.exec(`DELETE FROM ${record}.statistics`);
}

function leaveRowsOut(
  db: SqliteDatabase,
  record: string,
  table: ChangedTable,
  isOut: (path: string) => boolean,
): void {
  const shape = table.before ?? table.after;
  if (shape === undefined) return;
  for (const side of SIDES)
    for (const [rowid = null, ...key] of recordedKeys(db, record, { table, side, shape }))
      if (isOut(rowPath(table.name, key)))
        db.rows(`DELETE FROM ${record}.${side}_${table.n} WHERE rowid = ?`, rowid);
}

/** The number in the record and the key of each row on one side. */
function recordedKeys(
  db: SqliteDatabase,
  record: string,
  of: {
    readonly table: ChangedTable;
    readonly side: (typeof SIDES)[number];
    readonly shape: RecordedShape;
  },
) {
  const rows = recordedRows(record, of.side, of.table.n, of.shape);
  return db.rows(`SELECT this.rowid, ${keyOf("this", rows, of.shape)} FROM ${rows.from} AS this`);
}
