import type { Conflict } from "../core/errors.ts";
import { conflictConditions, findConflicts, rowConflicts, type Way } from "./landing-conflicts.ts";
import { sameIdentity } from "./row-comparison.ts";
import { type ChangedTable, changedTables, recordedRows } from "./sqlite-changes.ts";
import { SqliteDatabase } from "./sqlite-database.ts";

/**
 * Takes out of a record everything in which the database is not as the record knows it, and says what that is. What is left can land without
 * touching what others have made. A definition that others have changed takes everything with it: the rest would not fit.
 */
export function yieldToRivals(location: string, record: string, way: Way): Conflict[] {
  using db = new SqliteDatabase(location, "write");
  db.attach(record, "write", "record");
  const conflicts = findConflicts(db, "record", way);
  if (conflicts.length === 0) return [];
  db.exec("BEGIN");
  const tables = changedTables(db, "record");
  const rows = tables.filter((table) => !table.whole).flatMap((table) => rowConflicts(db, "record", table)(way));
  const isOnlyRows = conflicts.every(({ path }) => rows.some((row) => row.path === path && path.includes("/")));
  if (isOnlyRows) for (const table of tables) dropRivals(db, table, way);
  else
    for (const name of ["numbers", "objects", "tables", "sequences", "statistics"])
      db.exec(`DELETE FROM record.${name}`);
  db.exec("COMMIT");
  return conflicts;
}

/** The other side of a row that somebody has changed goes too. */
function dropRivals(db: SqliteDatabase, table: ChangedTable, way: Way): void {
  const shape = table.before ?? table.after;
  if (shape === undefined || table.whole) return;
  const { from, to } = conflictConditions("record", table, shape, way);
  const [old, fresh] = [
    recordedRows("record", way.from, table.n, shape),
    recordedRows("record", way.to, table.n, shape),
  ];
  db.exec(`CREATE TEMP TABLE rivals AS SELECT * FROM ${old.from} AS this WHERE ${from}`);
  db.exec(`DELETE FROM ${fresh.from} AS this WHERE ${to}`);
  for (const side of [fresh, old]) {
    const rivals = { ...side, from: "temp.rivals" };
    db.exec(
      `DELETE FROM ${side.from} AS this WHERE EXISTS (SELECT 1 FROM temp.rivals AS r WHERE ${sameIdentity("r", rivals, "this", side, shape.identity)})`,
    );
  }
  db.exec("DROP TABLE temp.rivals");
}
