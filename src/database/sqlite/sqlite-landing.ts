import type { DatabaseValue } from "../../core/values/query.ts";
import type { Direction } from "./landing-conflicts.ts";
import { type Rows, rowsOf, sameIdentity } from "./row-comparison.ts";
import {
  type ChangedObject,
  type ChangedTable,
  changedTables,
  type RecordedShape,
  recordedObjects,
  recordedRows,
} from "./sqlite-changes.ts";
import { quoted, type SqliteDatabase } from "./sqlite-database.ts";
import { HEADER_NUMBERS, hasTable, MARKER_TABLE, tableName } from "./sqlite-schema.ts";

/**
 * Brings `main` of the connection from one side of a record to the other, inside the open transaction. The
 * caller has checked for conflicts. In all tables, old rows are deleted before new ones are inserted, so that
 * unique values can change places. No trigger fires and no foreign key acts: the record contains their
 * effects already.
 */
export function landRecord(db: SqliteDatabase, record: string, direction: Direction): void {
  const sequences = currentSequences(db, record);
  const objects = recordedObjects(db, record);
  const tables = changedTables(db, record);
  dropObjects(db, objects);
  createTables(db, objects, direction);
  for (const table of tables) if (!table.whole) deleteRows(db, record, table);
  for (const table of tables) insertRows(db, record, table, direction);
  createObjects(db, objects, direction);
  for (const name of HEADER_NUMBERS) {
    const value = db.value(`SELECT ${direction.to} FROM ${record}.numbers WHERE name = ?`, name);
    if (value !== null) db.exec(`PRAGMA main.${name} = ${Number(value)}`);
  }
  landSequences(db, record, direction, sequences);
  landStatistics(db, record, direction);
}

/**
 * Removes virtual tables from the schema by hand, because their module may be missing, or would also drop its
 * own tables.
 */
function dropObjects(db: SqliteDatabase, objects: readonly ChangedObject[]): void {
  const virtual = objects.filter(({ isVirtual }) => isVirtual);
  for (const { name } of virtual)
    editSchema(db, () => db.rows("DELETE FROM main.sqlite_schema WHERE type = 'table' AND name = ?", name));
  for (const type of ["trigger", "view", "index", "table"] as const)
    for (const object of objects.filter((candidate) => candidate.type === type && !candidate.isVirtual))
      db.exec(`DROP ${type} IF EXISTS ${tableName("main", object.name)}`);
}

function createTables(db: SqliteDatabase, objects: readonly ChangedObject[], { to }: Direction): void {
  for (const object of objects)
    if (object.type === "table" && !object.isVirtual && object[to] !== undefined) db.exec(object[to]);
}

function createObjects(db: SqliteDatabase, objects: readonly ChangedObject[], { to }: Direction): void {
  for (const { name, isVirtual, [to]: sql } of objects.filter((object) => object.isVirtual))
    if (isVirtual && sql !== undefined)
      editSchema(db, () =>
        db.rows(
          "INSERT INTO main.sqlite_schema(type, name, tbl_name, rootpage, sql) VALUES ('table', ?, ?, 0, ?)",
          ...[name, name, sql],
        ),
      );
  for (const type of ["index", "view", "trigger"] as const)
    for (const object of objects) if (object.type === type && object[to] !== undefined) db.exec(object[to]);
}

/** The version of the schema tells other connections to read it again. */
function editSchema(db: SqliteDatabase, edit: () => void): void {
  const version = db.number("PRAGMA main.schema_version");
  db.exec("PRAGMA writable_schema = ON");
  try {
    edit();
    db.exec(`PRAGMA main.schema_version = ${version + 1}`);
  } finally {
    db.exec("PRAGMA writable_schema = RESET");
  }
}

/** Deletes all rows that the record has on either side. */
function deleteRows(db: SqliteDatabase, record: string, { n, before, after }: ChangedTable): void {
  const shape = before ?? after;
  if (shape === undefined) return;
  const { identity } = shape;
  const live = rowsOf("main", shape);
  const key =
    identity === "rowid"
      ? `${live.rowid}`
      : identity.map(({ at, collation }) => `${live.columns[at]} COLLATE ${quoted(collation)}`).join(", ");
  const recorded = identity === "rowid" ? "k" : identity.map(({ at }) => `c${at}`).join(", ");
  const keys = ["before", "after"]
    .map((side) => `SELECT ${recorded} FROM ${record}.${side}_${n}`)
    .join(" UNION ALL ");
  db.exec(`DELETE FROM ${live.from} WHERE (${key}) IN (${keys})`);
}

function insertRows(db: SqliteDatabase, record: string, table: ChangedTable, { to }: Direction): void {
  const shape = table[to];
  if (shape === undefined) return;
  const live = rowsOf("main", shape);
  const rows = recordedRows(record, to, table.n, shape);
  if (shape.rowid === undefined) insert(db, live, rows, { withRowid: false, where: "TRUE" });
  else if (shape.identity === "rowid") insert(db, live, rows, { withRowid: true, where: "TRUE" });
  else {
    // The rowid is not the identity, so a row keeps it only where no other row has it now.
    const isTaken = `EXISTS (SELECT 1 FROM ${live.from} AS o WHERE o.${live.rowid} = this.k)`;
    insert(db, live, rows, { withRowid: true, where: `NOT ${isTaken}` });
    insert(db, live, rows, { withRowid: false, where: notThere(live, rows, shape) });
  }
}

function notThere(live: Rows, rows: Rows, shape: RecordedShape): string {
  const { identity } = shape;
  return `NOT EXISTS (SELECT 1 FROM ${live.from} AS o WHERE ${sameIdentity(["o", live], ["this", rows], identity)})`;
}

function insert(
  db: SqliteDatabase,
  live: Rows,
  rows: Rows,
  { withRowid, where }: { readonly withRowid: boolean; readonly where: string },
): void {
  const names = withRowid ? [live.rowid, ...live.columns] : live.columns;
  const values = withRowid ? [rows.rowid, ...rows.columns] : rows.columns;
  db.exec(
    `INSERT INTO ${live.from}(${names.join(", ")}) SELECT ${values.map((value) => `this.${value}`).join(", ")} FROM ${rows.from} AS this WHERE ${where}`,
  );
}

type Sequences = ReadonlyMap<string, DatabaseValue>;

/** The last ids before rows are inserted, which changes them. */
function currentSequences(db: SqliteDatabase, record: string): Sequences {
  const names = db.rows(`SELECT name FROM ${record}.sequences`).map(([name]) => String(name));
  if (!hasTable(db, "main", "sqlite_sequence")) return new Map(names.map((name) => [name, null]));
  return new Map(
    names.map((name) => [name, db.value("SELECT max(seq) FROM main.sqlite_sequence WHERE name = ?", name)]),
  );
}

/** An id is never given twice: if another writer has gone further, its last id stays. */
function landSequences(
  db: SqliteDatabase,
  record: string,
  { from, to }: Direction,
  sequences: Sequences,
): void {
  if (!hasTable(db, "main", "sqlite_sequence")) return;
  for (const [name = null, old = null, fresh = null] of db.rows(
    `SELECT name, ${from}, ${to} FROM ${record}.sequences`,
  )) {
    const now = sequences.get(String(name)) ?? null;
    const value = now === old ? fresh : larger(now, fresh);
    db.rows("DELETE FROM main.sqlite_sequence WHERE name = ?", name);
    if (value !== null) db.rows("INSERT INTO main.sqlite_sequence(name, seq) VALUES (?, ?)", name, value);
  }
}

function larger(a: DatabaseValue, b: DatabaseValue): DatabaseValue {
  if (a === null || b === null) return a ?? b;
  return Number(a) > Number(b) ? a : b;
}

/**
 * The statistics of ANALYZE only help to plan queries. If another writer has run ANALYZE meanwhile, its
 * result stays.
 */
function landStatistics(db: SqliteDatabase, record: string, { from, to }: Direction): void {
  if (db.number(`SELECT EXISTS (SELECT 1 FROM ${record}.statistics)`) === 0) return;
  const of = (side: string) =>
    `SELECT tbl, idx, stat FROM ${record}.statistics WHERE side = '${side}' AND tbl IS NOT NULL`;
  const isThere = hasTable(db, "main", "sqlite_stat1");
  // Dropping a table drops its statistics, so the present rows must be a subset of the recorded ones.
  const isOthers =
    isThere &&
    db.number(`SELECT EXISTS (SELECT tbl, idx, stat FROM main.sqlite_stat1 EXCEPT ${of(from)})`) === 1;
  if (isOthers) return;
  if (db.number(`SELECT EXISTS (SELECT 1 FROM ${record}.statistics WHERE side = ?)`, to) === 0) {
    db.exec("DROP TABLE IF EXISTS main.sqlite_stat1");
    return;
  }
  if (!isThere) db.exec("ANALYZE main.sqlite_schema");
  db.exec(`DELETE FROM main.sqlite_stat1; INSERT INTO main.sqlite_stat1(tbl, idx, stat) ${of(to)}`);
}

/**
 * The marker says, inside the database, that a transaction of ours is in it. It is written in that
 * transaction and removed in a later one, when the landing is on record outside. So it exists only for a
 * short time, or from a crash to its recovery.
 */
export function setMarker(db: SqliteDatabase, id: string): void {
  db.exec(`CREATE TABLE IF NOT EXISTS main.${MARKER_TABLE}(id TEXT PRIMARY KEY)`);
  db.rows(`INSERT INTO main.${MARKER_TABLE} VALUES (?)`, id);
}

export function hasMarker(db: SqliteDatabase, id: string): boolean {
  if (!hasTable(db, "main", MARKER_TABLE)) return false;
  return db.number(`SELECT count(*) FROM main.${MARKER_TABLE} WHERE id = ?`, id) > 0;
}

export function removeMarker(db: SqliteDatabase, id: string): void {
  db.rows(`DELETE FROM main.${MARKER_TABLE} WHERE id = ?`, id);
  if (db.number(`SELECT count(*) FROM main.${MARKER_TABLE}`) === 0)
    db.exec(`DROP TABLE main.${MARKER_TABLE}`);
}
