import { factsOfPath } from "../../system/data/locations.ts";
import { RandomAccess } from "../../system/data/random-access.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";
import {
  type Cell,
  differentPages,
  isSameCell,
  type Rowid,
  SqlitePages,
  type TablePages,
  UnknownPageError,
} from "./sqlite-pages.ts";

/** Beyond this, comparing the whole table is as fast, and needs no memory for lists. */
const MOST_COMPARED_BYTES = 40 * 1024 * 1024;

/** For each table with rowids that both files have: the rowids of all rows that may differ. */
export type ChangedRowids = ReadonlyMap<string, readonly Rowid[]>;

/**
 * Finds the rows that may differ, without reading the others. `main` of the connection began as a
 * byte-for-byte copy of `base`. So a page that is a leaf of the table in both, with the same bytes, holds the
 * same rows. In other leaves, rows with the same bytes are the same.
 *
 * Returns undefined where this does not hold, and then all rows have to be compared.
 *
 * The connection has a read transaction on both files, so they do not change meanwhile: the write-ahead log
 * was empty, and a writer can't move its log into the file before the transaction ends.
 */
export function changedRowids(db: SqliteDatabase, basePath: string): ChangedRowids | undefined {
  // The log has changes that are not in the file.
  if ((factsOfPath(`${db.path}-wal`)?.size ?? 0) > 0) return undefined;
  using baseFile = new RandomAccess(basePath);
  using ownFile = new RandomAccess(db.path);
  try {
    const [base, own] = [new SqlitePages(baseFile), new SqlitePages(ownFile)];
    return candidates(db, base, own);
  } catch (thrown) {
    if (thrown instanceof UnknownPageError || thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

function candidates(db: SqliteDatabase, base: SqlitePages, own: SqlitePages): ChangedRowids | undefined {
  const different = differentPages(base, own);
  const isAccounted = new Uint8Array(Math.max(base.count, own.count) + 1);
  // The first page holds the schema, which is compared separately.
  isAccounted[1] = 1;
  const found = new Map<string, readonly Rowid[]>();
  for (const [name, root] of roots(db)) {
    const before = base.tree(root.base);
    // If no inner page has changed, the list of leaves is the same.
    const isSameTree =
      root.base === root.main && before.inner.length > 0 && !before.inner.some((page) => different.has(page));
    const after = isSameTree ? before : own.tree(root.main);
    const [old, fresh] = changedLeaves(before, after, different);
    if ((old.length + fresh.length) * base.pageSize <= MOST_COMPARED_BYTES)
      found.set(name, differentRows(base, old, own, fresh));
    for (const page of [before.inner, before.leaves, after.inner, after.leaves].flat()) isAccounted[page] = 1;
  }
  // A row may continue in a changed page, though its leaf has not changed.
  const mayHideRows = (page: number) =>
    isAccounted[page] !== 1 && (base.mayContinueRow(page) || own.mayContinueRow(page));
  return [...different].some(mayHideRows) ? undefined : found;
}

/**
 * The leaves on each side that can hold changed rows: changed ones, and ones that the other side does not
 * have.
 */
function changedLeaves(
  before: TablePages,
  after: TablePages,
  different: ReadonlySet<number>,
): [number[], number[]] {
  if (before === after) {
    const leaves = before.leaves.filter((leaf) => different.has(leaf));
    return [leaves, leaves];
  }
  const both = new Set(before.leaves).intersection(new Set(after.leaves));
  const isChanged = (leaf: number) => different.has(leaf) || !both.has(leaf);
  return [before.leaves.filter(isChanged), after.leaves.filter(isChanged)];
}

/** The rows in leaves of two files, without those that have the same bytes in both. */
function differentRows(
  a: SqlitePages,
  old: readonly number[],
  b: SqlitePages,
  fresh: readonly number[],
): Rowid[] {
  const before = new Map<Rowid, Cell>();
  for (const leaf of old) for (const cell of a.cells(leaf)) before.set(cell.rowid, cell);
  const rows: Rowid[] = [];
  for (const leaf of fresh)
    for (const cell of b.cells(leaf)) {
      const was = before.get(cell.rowid);
      if (was === undefined || !isSameCell(was, cell)) rows.push(cell.rowid);
      before.delete(cell.rowid);
    }
  return [...rows, ...before.keys()];
}

/** The first pages of the tables with rowids that both databases have. */
function roots(db: SqliteDatabase): Map<string, { readonly base: number; readonly main: number }> {
  const rows = db.rows(
    `SELECT b.name, b.rootpage, m.rootpage FROM base.sqlite_schema AS b
     JOIN main.sqlite_schema AS m ON m.type = 'table' AND m.name = b.name AND m.sql IS b.sql
     JOIN pragma_table_list AS l ON l.schema = 'main' AND l.name = m.name AND l.wr = 0
     WHERE b.type = 'table' AND b.rootpage > 0 AND m.rootpage > 0`,
  );
  return new Map(
    rows.map(([name, base, main]) => [String(name), { base: Number(base), main: Number(main) }]),
  );
}
