import type { Conflict } from "../../../core/errors/errors.ts";
import type { DatabaseValue } from "../../../core/values/query.ts";
import { conflictConditions, escapedName, FORWARD, keyOf, rowPath } from "../landing-conflicts.ts";
import { type Rows, rowsOf, sameIdentity, sameValues } from "../row-comparison.ts";
import { type ChangedTable, type RecordedShape, recordedRows } from "../sqlite-changes.ts";
import type { SqliteDatabase } from "../sqlite-database.ts";
import { hasRowidKey } from "../sqlite-schema.ts";

/** The rows of a table that the plan and another writer changed. */
export interface MergedRows {
  /** The record has both changes now. */
  readonly merged: readonly string[];
  /** The record has the plan's change. */
  readonly conflicts: readonly Conflict[];
  /** Why no row of the table can be told from the others, if that is so. */
  readonly why?: string;
}

interface MergingTable {
  readonly db: SqliteDatabase;
  readonly name: string;
  readonly shape: RecordedShape;
  /** The rows of the record and of the other writer. */
  readonly old: Rows;
  readonly fresh: Rows;
  readonly live: Rows;
}

const NO_KEY = "it has no primary key, so the rows that both sides changed can't be told apart";
const BREAKS = "both sides changed it, and together they break a constraint";

/**
 * Merges the rows of one table in a record. `main` of the connection has the other writer's rows.
 *
 * | the plan      | the other writer       | the record gets                                       |
 * |---------------|------------------------|-------------------------------------------------------|
 * | changes a row | changed other columns  | a row with both changes, unless `isApart`             |
 * |               | changed the same column| nothing: it is a conflict                             |
 * |               | deleted it             | nothing: it is a conflict                             |
 * | deletes a row | changed it             | nothing: it is a conflict                             |
 * | adds a row    | added one of that key  | nothing: it is a conflict                             |
 * |               | the same, without keys | the plan's row with another rowid                     |
 *
 * Without a primary key, VACUUM may give a row another rowid. So there a row that both sides changed makes
 * the whole table a conflict.
 */
export function mergeRows(
  db: SqliteDatabase,
  record: string,
  table: ChangedTable,
  isApart: boolean,
): MergedRows {
  const shape = table.before ?? table.after;
  if (shape === undefined) return { merged: [], conflicts: [] };
  const conditions = conflictConditions(record, table, shape, FORWARD);
  const [old, fresh] = [
    recordedRows(record, "before", table.n, shape),
    recordedRows(record, "after", table.n, shape),
  ];
  const merging = { db, name: table.name, shape, old, fresh, live: rowsOf("main", shape) };
  db.exec(`CREATE TEMP TABLE disputed AS SELECT this.rowid AS r FROM ${old.from} AS this WHERE ${conditions.from};
    CREATE TEMP TABLE added AS SELECT this.rowid AS r FROM ${fresh.from} AS this WHERE ${conditions.to}`);
  try {
    if (shape.identity !== "rowid" || hasRowidKey(db, "main", table.name))
      return mergeByKey(merging, isApart);
    if (db.number("SELECT EXISTS (SELECT 1 FROM temp.disputed)") === 1)
      return { merged: [], conflicts: [], why: NO_KEY };
    return { merged: giveOtherRowids(merging), conflicts: [] };
  } finally {
    db.exec("DROP TABLE temp.disputed; DROP TABLE temp.added");
  }
}

function mergeByKey(merging: MergingTable, isApart: boolean): MergedRows {
  const { db, name, shape, fresh } = merging;
  const merged: string[] = [];
  const conflicts: Conflict[] = db
    .rows(`SELECT ${keyOf("f", fresh, shape)} FROM temp.added AS d JOIN ${fresh.from} AS f ON f.rowid = d.r`)
    .map((key) => ({ path: rowPath(name, key), why: "a row with this key was added meanwhile" }));
  for (const { rowid, path, why } of disputedRows(merging, isApart)) {
    if (why === undefined) merged.push(path);
    else {
      conflicts.push({ path, why });
      db.rows("DELETE FROM temp.disputed WHERE r = ?", rowid);
    }
  }
  if (merged.length > 0) joinColumns(merging);
  return { merged, conflicts };
}

/** The rows that the plan and another writer changed, and why they can't be merged. */
function disputedRows({ db, name, shape, old, fresh, live }: MergingTable, isApart: boolean) {
  const { identity } = shape;
  const isThere = identity === "rowid" ? `o.${live.rowid}` : `o.${live.columns[identity[0]?.at ?? 0]}`;
  const only = (rows: Rows, at: number): Rows => ({ ...rows, columns: rows.columns.slice(at, at + 1) });
  const clashes = shape.columns.map((_, at) => {
    const [b, f, o] = [only(old, at), only(fresh, at), only(live, at)];
    return `WHEN NOT (${sameValues("b", b, "f", f)}) AND NOT (${sameValues("b", b, "o", o)}) AND NOT (${sameValues("f", f, "o", o)}) THEN ${at}`;
  });
  const rows = db.rows(
    `SELECT d.r, f.rowid IS NULL, ${isThere} IS NULL, CASE ${clashes.join(" ")} END, ${keyOf("b", old, shape)}
     FROM temp.disputed AS d JOIN ${old.from} AS b ON b.rowid = d.r
     LEFT JOIN ${fresh.from} AS f ON ${sameIdentity(["f", fresh], ["b", old], identity)}
     LEFT JOIN ${live.from} AS o ON ${sameIdentity(["o", live], ["b", old], identity)}`,
  );
  return rows.map(([rowid = null, isDeleted, isGone, clash = null, ...key]) => ({
    rowid,
    path: rowPath(name, key),
    why: whyNot({
      isDeleted: Number(isDeleted) === 1,
      isGone: Number(isGone) === 1,
      column: columnAt(shape, clash),
      isApart,
    }),
  }));
}

function columnAt({ columns }: RecordedShape, at: DatabaseValue): string | undefined {
  return at === null ? undefined : columns[Number(at)];
}

function whyNot(row: {
  readonly isDeleted: boolean;
  readonly isGone: boolean;
  readonly column: string | undefined;
  readonly isApart: boolean;
}): string | undefined {
  if (row.isDeleted) return "it was changed meanwhile, and the plan deletes it";
  if (row.isGone) return "it was deleted meanwhile, and the plan changes it";
  if (row.column !== undefined) return `its column ${escapedName(row.column)} was changed meanwhile too`;
  return row.isApart ? BREAKS : undefined;
}

/** Gives the plan's rows, in the columns that the plan did not change, the other writer's values. */
function joinColumns({ db, shape, old, fresh, live }: MergingTable): void {
  const columns = shape.columns.map((_, at) => {
    const [b, f] = [old, fresh].map((rows) => ({ ...rows, columns: rows.columns.slice(at, at + 1) }));
    if (b === undefined || f === undefined) return "";
    return `c${at} = CASE WHEN ${sameValues("b", b, "f", f)} THEN o.${live.columns[at]} ELSE f.c${at} END`;
  });
  db.exec(`UPDATE ${fresh.from} AS f SET ${columns.join(", ")}
    FROM temp.disputed AS d JOIN ${old.from} AS b ON b.rowid = d.r
    JOIN ${live.from} AS o ON ${sameIdentity(["o", live], ["b", old], shape.identity)}
    WHERE ${sameIdentity(["f", fresh], ["b", old], shape.identity)}`);
}

/** Rowids mean nothing there, so the plan's rows get the next free ones. */
function giveOtherRowids({ db, name, old, fresh, live }: MergingTable): readonly string[] {
  const rows = db.rows(`SELECT d.r, f.k FROM temp.added AS d JOIN ${fresh.from} AS f ON f.rowid = d.r`);
  const rowids = [`${live.rowid} AS k FROM ${live.from}`, `k FROM ${old.from}`, `k FROM ${fresh.from}`];
  const top = db.value(`SELECT max(k) FROM (${rowids.map((from) => `SELECT ${from}`).join(" UNION ALL ")})`);
  let next = BigInt(String(top ?? 0));
  for (const [r = null] of rows) {
    next += 1n;
    db.rows(`UPDATE ${fresh.from} SET k = ? WHERE rowid = ?`, next, r);
  }
  return rows.map(([, key = null]) => rowPath(name, [key]));
}
