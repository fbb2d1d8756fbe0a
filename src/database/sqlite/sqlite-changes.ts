import { UnsupportedError } from "../../core/errors/errors.ts";
import type { ChangedRowids } from "./changed-rowids.ts";
import {
  columnList,
  type Identity,
  identityOf,
  isMissingIn,
  lacksKey,
  type Rows,
  rowsOf,
} from "./row-comparison.ts";
import { quoted, type SqliteDatabase } from "./sqlite-database.ts";
import type { Rowid } from "./sqlite-pages.ts";
import {
  definitionOf,
  HEADER_NUMBERS,
  hasTable,
  headerNumber,
  type SchemaObject,
  schemaObjects,
  type TableShape,
  tableShape,
} from "./sqlite-schema.ts";

/**
 * # The difference between two SQLite databases, as a database
 *
 * It holds everything that brings a database from one side to the other, and back:
 *
 * - `numbers`: the numbers of the header that programs use, with their value before and after;
 * - `objects`: tables that were created, dropped or altered, with everything that belongs to them; also
 *   indexes, views and triggers. `before` and `after` are the text of the definition, NULL where the object
 *   does not exist;
 * - `tables`: the tables with changed rows. `whole` says that the definition changed and all rows are
 *   recorded; otherwise only those that differ are. The shapes are JSON (`RecordedShape`), NULL where the
 *   table does not exist;
 * - `before_N` and `after_N`: the rows of table N on each side: the rowid in `k`, the columns in `c0`, `c1`,
 *   …, without a type, so that every value stays exact. A row with the same identity on both sides was
 *   changed; a row on one side only was added or deleted;
 * - `sequences`: the last ids of tables with AUTOINCREMENT, where they differ;
 * - `statistics`: the result of ANALYZE on each side, if it differs. A row without a table says that the
 *   table of statistics exists.
 */
export const SIDES = ["before", "after"] as const;
export type Side = (typeof SIDES)[number];

/** The facts of a table on one side. */
export interface RecordedShape extends TableShape {
  readonly identity: Identity;
  /** Its definition. */
  readonly sql: string;
}

export interface ChangedTable {
  readonly n: number;
  readonly name: string;
  readonly whole: boolean;
  readonly before: RecordedShape | undefined;
  readonly after: RecordedShape | undefined;
}

export interface ChangedObject {
  readonly type: SchemaObject["type"];
  readonly name: string;
  readonly table: string;
  readonly isVirtual: boolean;
  readonly before: string | undefined;
  readonly after: string | undefined;
}

const NONE: ReadonlySet<string> = new Set();

/**
 * Compares `base` with `main` of the connection and records the difference in `out`, which is empty.
 * `findRowids` may name the rows of a table that can differ; it is called when the connection reads from
 * both. Tables in `whole` are recorded like altered ones, whatever differs in them.
 */
export function recordChanges(
  db: SqliteDatabase,
  findRowids?: () => ChangedRowids | undefined,
  whole = NONE,
): void {
  db.exec(`BEGIN;
    CREATE TABLE out.numbers(name TEXT PRIMARY KEY, before INTEGER, after INTEGER);
    CREATE TABLE out.objects(position INTEGER PRIMARY KEY, type, name, tbl_name, virtual, before, after);
    CREATE TABLE out.tables(n INTEGER PRIMARY KEY, name TEXT, whole INTEGER, before TEXT, after TEXT);
    CREATE TABLE out.sequences(name PRIMARY KEY, before INTEGER, after INTEGER);
    CREATE TABLE out.statistics(side TEXT, tbl, idx, stat);`);
  for (const name of HEADER_NUMBERS) recordNumber(db, name);
  const [before, after] = [schemaObjects(db, "base"), schemaObjects(db, "main")];
  const objects = changedObjects(before, after, whole);
  const rowids = findRowids?.();
  for (const { type, name, table, isVirtual, before: old, after: fresh } of objects)
    db.rows(
      "INSERT INTO out.objects(type, name, tbl_name, virtual, before, after) VALUES (?, ?, ?, ?, ?, ?)",
      ...[type, name, table, isVirtual ? 1 : 0, old ?? null, fresh ?? null],
    );
  for (const name of new Set([...before, ...after].filter(isRealTable).map((object) => object.name))) {
    const isIn = (side: readonly SchemaObject[]) =>
      side.some((object) => isRealTable(object) && object.name === name);
    const isWhole = objects.some((object) => object.type === "table" && object.name === name);
    const sources = { before: isIn(before) ? "base" : undefined, after: isIn(after) ? "main" : undefined };
    recordTable(db, name, { whole: isWhole, sources, rowids: isWhole ? undefined : rowids?.get(name) });
  }
  recordSequences(db);
  recordStatistics(db);
  db.exec("COMMIT");
}

function isRealTable(object: SchemaObject): boolean {
  return object.type === "table" && !object.isVirtual;
}

function recordNumber(db: SqliteDatabase, name: (typeof HEADER_NUMBERS)[number]): void {
  const [before, after] = [headerNumber(db, "base", name), headerNumber(db, "main", name)];
  if (before !== after) db.rows("INSERT INTO out.numbers VALUES (?, ?, ?)", name, before, after);
}

/**
 * The objects whose definitions differ. With a table or a view comes everything that belongs to it, because
 * it is dropped and created with it.
 */
function changedObjects(
  before: readonly SchemaObject[],
  after: readonly SchemaObject[],
  whole: ReadonlySet<string>,
): ChangedObject[] {
  const keyOf = ({ type, name }: SchemaObject) => `${type} ${name}`;
  const old = new Map(before.map((object) => [keyOf(object), object]));
  const fresh = new Map(after.map((object) => [keyOf(object), object]));
  const all = [...new Map([...old, ...fresh]).values()];
  const differs = (object: SchemaObject) => old.get(keyOf(object))?.sql !== fresh.get(keyOf(object))?.sql;
  const owners = new Set(
    all
      .filter((object) => (object.type === "table" || object.type === "view") && differs(object))
      .map(({ name }) => name),
  );
  return all
    .filter(
      (object) =>
        differs(object) ||
        (owners.has(object.table) && object.name !== object.table) ||
        whole.has(object.table),
    )
    .map((object) => ({
      ...object,
      before: old.get(keyOf(object))?.sql,
      after: fresh.get(keyOf(object))?.sql,
    }));
}

interface TableSources {
  /** Whether the table is dropped or rebuilt, so that all its rows count. */
  readonly whole: boolean;
  readonly sources: { readonly [side in Side]: string | undefined };
  /** The rows that may differ; undefined: all. */
  readonly rowids: readonly Rowid[] | undefined;
}

function recordTable(db: SqliteDatabase, name: string, { whole, sources, rowids }: TableSources): void {
  if (rowids?.length === 0) return;
  const shapes = { before: shapeIn(db, sources.before, name), after: shapeIn(db, sources.after, name) };
  // If a row lacks a key on one side, the rowid identifies the rows on both.
  const agreed = whole ? shapes : agreeing(shapes);
  const n = db.number("SELECT coalesce(max(n), 0) + 1 FROM out.tables");
  let count = 0;
  for (const side of SIDES) {
    const [shape, database] = [agreed[side], sources[side]];
    if (shape === undefined || database === undefined) continue;
    const rows = rowsOf(database, shape);
    const other = database === "base" ? "main" : "base";
    const condition = whole ? "TRUE" : isMissingIn("this", rows, rowsOf(other, shape), shape.identity);
    makeRecord(db, side, n, shape);
    db.exec(
      `INSERT INTO out.${side}_${n} SELECT ${shape.rowid === undefined ? "NULL, " : ""}${columnList("this", rows)} FROM ${rows.from} AS this WHERE ${isWorthALook("this", rows, rowids)} AND ${condition}`,
    );
    count += db.number(`SELECT count(*) FROM out.${side}_${n}`);
  }
  if (whole || count > 0)
    db.rows(
      "INSERT INTO out.tables VALUES (?, ?, ?, ?, ?)",
      ...[n, name, whole ? 1 : 0, jsonOrNull(agreed.before), jsonOrNull(agreed.after)],
    );
  else for (const side of SIDES) db.exec(`DROP TABLE IF EXISTS out.${side}_${n}`);
}

function isWorthALook(alias: string, { rowid }: Rows, rowids: readonly Rowid[] | undefined): string {
  if (rowids === undefined || rowid === undefined) return "TRUE";
  return `${alias}.${rowid} IN (SELECT value FROM json_each('[${rowids.join()}]'))`;
}

function agreeing({
  before,
  after,
}: {
  before: RecordedShape | undefined;
  after: RecordedShape | undefined;
}) {
  const byRowid = before?.identity === "rowid" || after?.identity === "rowid";
  const agree = (shape: RecordedShape | undefined): RecordedShape | undefined =>
    shape === undefined || !byRowid ? shape : { ...shape, identity: "rowid" };
  return { before: agree(before), after: agree(after) };
}

function shapeIn(db: SqliteDatabase, database: string | undefined, name: string): RecordedShape | undefined {
  if (database === undefined) return undefined;
  const shape = tableShape(db, database, name);
  const lacking = lacksKey(shape);
  const { from } = rowsOf(database, shape);
  const hasNone =
    lacking !== undefined && db.number(`SELECT EXISTS (SELECT 1 FROM ${from} WHERE ${lacking})`) === 1;
  const identity = identityOf(shape, hasNone);
  if (identity === undefined)
    throw new UnsupportedError(
      `The rows of the table ${name} can't be told apart: it has no primary key, and columns are called rowid, _rowid_ and oid.`,
      { hint: "Give it a primary key, or rename one of these columns." },
    );
  return { ...shape, identity, sql: definitionOf(db, database, "table", name) ?? "" };
}

function makeRecord(db: SqliteDatabase, side: Side, n: number, shape: RecordedShape): void {
  const { identity } = shape;
  const collations = new Map(
    identity === "rowid" ? [] : identity.map(({ at, collation }) => [at, collation]),
  );
  const columns = shape.columns.map((_, at) => {
    const collation = collations.get(at);
    return collation === undefined ? `c${at}` : `c${at} COLLATE ${quoted(collation)}`;
  });
  db.exec(`CREATE TABLE out.${side}_${n}(${["k", ...columns].join(", ")})`);
  const key = identity === "rowid" ? ["k"] : identity.map(({ at }) => `c${at}`);
  db.exec(`CREATE INDEX out.${side}_${n}_key ON ${side}_${n}(${key.join(", ")})`);
}

function recordSequences(db: SqliteDatabase): void {
  const [base, main] = ["base", "main"].map((database) =>
    hasTable(db, database, "sqlite_sequence")
      ? `SELECT name, seq FROM ${database}.sqlite_sequence`
      : "SELECT NULL, NULL WHERE 0",
  );
  db.exec(`INSERT INTO out.sequences
    WITH b(name, seq) AS (${base}), a(name, seq) AS (${main})
    SELECT name, (SELECT max(seq) FROM b WHERE b.name = names.name), (SELECT max(seq) FROM a WHERE a.name = names.name)
    FROM (SELECT name FROM b UNION SELECT name FROM a) AS names
    WHERE (SELECT max(seq) FROM b WHERE b.name = names.name) IS NOT (SELECT max(seq) FROM a WHERE a.name = names.name)`);
}

function recordStatistics(db: SqliteDatabase): void {
  const sides = [
    ["before", "base"],
    ["after", "main"],
  ] as const;
  for (const [side, database] of sides)
    if (hasTable(db, database, "sqlite_stat1"))
      db.exec(`INSERT INTO out.statistics VALUES ('${side}', NULL, NULL, NULL);
        INSERT INTO out.statistics SELECT '${side}', tbl, idx, stat FROM ${database}.sqlite_stat1`);
  const of = (side: Side) => `SELECT tbl, idx, stat FROM out.statistics WHERE side = '${side}'`;
  const differ = db.number(
    `SELECT EXISTS (${of("before")} EXCEPT ${of("after")}) OR EXISTS (${of("after")} EXCEPT ${of("before")})`,
  );
  if (differ === 0) db.exec("DELETE FROM out.statistics");
}

function jsonOrNull(shape: RecordedShape | undefined): string | null {
  return shape === undefined ? null : JSON.stringify(shape);
}

/** The tables of a record that is attached under this name. */
export function changedTables(db: SqliteDatabase, record: string): ChangedTable[] {
  return db.rows(`SELECT n, name, whole, before, after FROM ${record}.tables ORDER BY n`).map((row) => ({
    n: Number(row[0]),
    name: String(row[1]),
    whole: Number(row[2]) === 1,
    before: row[3] === null ? undefined : (JSON.parse(String(row[3])) as RecordedShape),
    after: row[4] === null ? undefined : (JSON.parse(String(row[4])) as RecordedShape),
  }));
}

export function recordedObjects(db: SqliteDatabase, record: string): ChangedObject[] {
  return db
    .rows(`SELECT type, name, tbl_name, virtual, before, after FROM ${record}.objects ORDER BY position`)
    .map(([type, name, table, virtual, before, after]) => ({
      type: String(type) as SchemaObject["type"],
      name: String(name),
      table: String(table),
      isVirtual: Number(virtual) === 1,
      before: before === null || before === undefined ? undefined : String(before),
      after: after === null || after === undefined ? undefined : String(after),
    }));
}

/** The recorded rows of a table on one side. */
export function recordedRows(record: string, side: Side, n: number, shape: RecordedShape): Rows {
  return { from: `${record}.${side}_${n}`, columns: shape.columns.map((_, at) => `c${at}`), rowid: "k" };
}

/** The number of changes in a record: rows, definitions and numbers. */
export function countChanges(db: SqliteDatabase, record: string): number {
  const rows = changedTables(db, record)
    .filter(({ whole }) => !whole)
    .map(({ n, before, after }) => {
      const shape = before ?? after;
      if (shape === undefined) return 0;
      const [old, fresh] = [
        recordedRows(record, "before", n, shape),
        recordedRows(record, "after", n, shape),
      ];
      const both = db.number(
        `SELECT count(*) FROM ${old.from} AS b WHERE EXISTS (SELECT 1 FROM ${fresh.from} AS a WHERE ${sameIdentityIn(old, fresh, shape)})`,
      );
      return (
        db.number(`SELECT count(*) FROM ${old.from}`) + db.number(`SELECT count(*) FROM ${fresh.from}`) - both
      );
    });
  const others = ["objects", "numbers", "sequences"].map((table) =>
    db.number(`SELECT count(*) FROM ${record}.${table}`),
  );
  const statistics = db.number(`SELECT EXISTS (SELECT 1 FROM ${record}.statistics)`);
  return [...rows, ...others, statistics].reduce((sum, count) => sum + count, 0);
}

function sameIdentityIn(old: Rows, fresh: Rows, { identity }: RecordedShape): string {
  if (identity === "rowid") return `a.${fresh.rowid} = b.${old.rowid}`;
  return identity.map(({ at }) => `a.${fresh.columns[at]} = b.${old.columns[at]}`).join(" AND ");
}
