import type { Conflict } from "../../core/errors/errors.ts";
import { conflictConditions, type Direction, findConflicts, rowConflicts } from "./landing-conflicts.ts";
import { sameIdentity } from "./row-comparison.ts";
import { type ChangedTable, changedTables, recordedRows } from "./sqlite-changes.ts";
import { SqliteDatabase } from "./sqlite-database.ts";

/**
 * Removes from a record every row that another writer has changed in the database since, and names these
 * rows. The rest can land without touching the other writer's work. A definition that changed removes
 * everything: the rest would not fit.
 */
export function removeConflictingRows(location: string, record: string, direction: Direction): Conflict[] {
  using db = new SqliteDatabase(location, "write");
  db.attach(record, "write", "record");
  const conflicts = findConflicts(db, "record", direction);
  if (conflicts.length === 0) return [];
  db.exec("BEGIN");
  const tables = changedTables(db, "record");
  const rows = tables
    .filter((table) => !table.whole)
    .flatMap((table) => rowConflicts(db, "record", table)(direction));
  const isOnlyRows = conflicts.every(({ path }) =>
    rows.some((row) => row.path === path && path.includes("/")),
  );
  if (isOnlyRows) for (const table of tables) removeConflicts(db, table, direction);
  else
    for (const name of ["numbers", "objects", "tables", "sequences", "statistics"])
      db.exec(`DELETE FROM record.${name}`);
  db.exec("COMMIT");
  return conflicts;
}

/** Removes both sides of a row in conflict: its old and its new state. */
function removeConflicts(db: SqliteDatabase, table: ChangedTable, direction: Direction): void {
  const shape = table.before ?? table.after;
  if (shape === undefined || table.whole) return;
  const { from, to } = conflictConditions("record", table, shape, direction);
  const [old, fresh] = [
    recordedRows("record", direction.from, table.n, shape),
    recordedRows("record", direction.to, table.n, shape),
  ];
  db.exec(`CREATE TEMP TABLE conflicting AS SELECT * FROM ${old.from} AS this WHERE ${from}`);
  db.exec(`DELETE FROM ${fresh.from} AS this WHERE ${to}`);
  for (const side of [fresh, old]) {
    const conflicting = { ...side, from: "temp.conflicting" };
    db.exec(
      `DELETE FROM ${side.from} AS this WHERE EXISTS (SELECT 1 FROM temp.conflicting AS r WHERE ${sameIdentity(["r", conflicting], ["this", side], shape.identity)})`,
    );
  }
  db.exec("DROP TABLE temp.conflicting");
}
