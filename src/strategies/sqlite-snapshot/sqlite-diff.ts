import { createHash } from "node:crypto";
import type { Change, ChangeFacts, DiffView } from "../../core/change.ts";
import type { DatabaseValue } from "../../core/values/query.ts";
import { rowJson } from "../../database/common/row-json.ts";
import { changedRowids } from "../../database/sqlite/changed-rowids.ts";
import { escapedName, keyOf, rowPath } from "../../database/sqlite/landing-conflicts.ts";
import { columnList } from "../../database/sqlite/row-comparison.ts";
import {
  type ChangedTable,
  changedTables,
  countChanges,
  type RecordedShape,
  recordChanges,
  recordedObjects,
  recordedRows,
  SIDES,
  type Side,
} from "../../database/sqlite/sqlite-changes.ts";
import type { SqliteDatabase } from "../../database/sqlite/sqlite-database.ts";
import { digestOf } from "../../system/data/digest.ts";
import type { SqliteSandbox } from "./sqlite-sandbox.ts";

/**
 * The difference between `base`, whose file is at this path, and `main` of a connection: rows as `table/key`,
 * definitions and other content by name. The digest of a row is that of its JSON; the digest of a table
 * covers its definition and all of its rows.
 */
export function sqliteDiff(db: SqliteDatabase, basePath: string): DiffView {
  recordDifference(db, basePath);
  return recordedDiff(db);
}

/** Records the difference in a database of its own, which is attached as `out`. */
export function recordDifference(db: SqliteDatabase, basePath: string): void {
  db.exec("ATTACH '' AS out");
  recordChanges(db, () => changedRowids(db, basePath));
}

/** Records the work of a sandbox in a new file, with these tables whole. Returns how many changes it has. */
export function recordWork(sandbox: SqliteSandbox, path: string, whole?: ReadonlySet<string>): number {
  using db = sandbox.openWithBase();
  db.attach(path, "create", "out");
  // A half-written record is useless, and the whole file is flushed at the end, if it is kept.
  db.exec("PRAGMA out.journal_mode = OFF; PRAGMA out.synchronous = OFF");
  recordChanges(db, () => changedRowids(db, sandbox.basePath), whole);
  return countChanges(db, "out");
}

/** The differences in a record that is attached as `out`. */
export function recordedDiff(db: SqliteDatabase): DiffView {
  const tables = changedTables(db, "out");
  const changes = [
    ...numberChanges(db),
    ...objectChanges(db, tables),
    ...tables.filter(({ whole }) => !whole).flatMap((table) => rowChanges(db, table)),
  ];
  return { changes: changes.sort((a, b) => (a.path < b.path ? -1 : a.path > b.path ? 1 : 0)) };
}

/** Changes of version numbers, of the last ids of AUTOINCREMENT, and of the statistics of ANALYZE. */
function numberChanges(db: SqliteDatabase): Change[] {
  const modified = (path: string, before: DatabaseValue, after: DatabaseValue): Change => ({
    path,
    operation: "modified",
    kind: "object",
    before: { digest: digestOf(String(before)) },
    after: { digest: digestOf(String(after)) },
  });
  const numbers = db.rows("SELECT name, before, after FROM out.numbers ORDER BY name");
  const sequences = db.rows(
    "SELECT 'sqlite_sequence/' || name, before, after FROM out.sequences ORDER BY name",
  );
  const statistics = SIDES.map((side) =>
    JSON.stringify(db.rows(`SELECT tbl, idx, stat FROM out.statistics WHERE side = '${side}' ORDER BY 1, 2`)),
  );
  const [before = "", after = ""] = statistics;
  return [
    ...[...numbers, ...sequences].map(([name, old = null, fresh = null]) =>
      modified(String(name), old, fresh),
    ),
    ...(before === after ? [] : [modified("sqlite_stat1", before, after)]),
  ];
}

/** Objects that come or go with their table are listed only if their own definition differs. */
function objectChanges(db: SqliteDatabase, tables: readonly ChangedTable[]): Change[] {
  return recordedObjects(db, "out")
    .filter(({ before, after }) => before !== after)
    .map(({ name, type, before, after }) => {
      const table = type === "table" ? tables.find((candidate) => candidate.name === name) : undefined;
      const facts = (side: Side, sql: string): ChangeFacts =>
        table?.[side] === undefined ? { digest: digestOf(sql) } : tableFacts(db, table, side, table[side]);
      return {
        path: escapedName(name),
        operation: before === undefined ? "added" : after === undefined ? "deleted" : "modified",
        kind: type === "table" ? "table" : "object",
        ...(before !== undefined && { before: facts("before", before) }),
        ...(after !== undefined && { after: facts("after", after) }),
      } satisfies Change;
    });
}

function tableFacts(db: SqliteDatabase, { n }: ChangedTable, side: Side, shape: RecordedShape): ChangeFacts {
  const hash = createHash("sha256").update(shape.sql);
  const rows = recordedRows("out", side, n, shape);
  let size = 0;
  for (const row of db.eachRow(
    `SELECT ${columnList("this", rows)} FROM ${rows.from} AS this ORDER BY this.k, this.c0`,
  )) {
    hash.update(`\n${rowJson(shape.columns, row.slice(1))}`);
    size += 1;
  }
  return { size, digest: hash.digest("hex") };
}

function rowChanges(db: SqliteDatabase, table: ChangedTable): Change[] {
  const shape = table.before ?? table.after;
  if (shape === undefined) return [];
  const facts = new Map<string, { before?: ChangeFacts; after?: ChangeFacts }>();
  for (const side of SIDES) {
    const rows = recordedRows("out", side, table.n, shape);
    const keys = shape.identity === "rowid" ? 1 : shape.identity.length;
    const columns = `${keyOf("this", rows, shape)}, ${rows.columns.map((column) => `this.${column}`).join(", ")}`;
    for (const row of db.eachRow(`SELECT ${columns} FROM ${rows.from} AS this`)) {
      const path = rowPath(table.name, row.slice(0, keys));
      facts.set(path, {
        ...facts.get(path),
        [side]: { digest: digestOf(rowJson(shape.columns, row.slice(keys))) },
      });
    }
  }
  return [...facts].map(([path, { before, after }]) => ({
    path,
    operation: before === undefined ? "added" : after === undefined ? "deleted" : "modified",
    kind: "row",
    ...(before !== undefined && { before }),
    ...(after !== undefined && { after }),
  }));
}
