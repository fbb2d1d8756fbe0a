import { factsOfPath } from "../system/locations.ts";
import { RandomAccess } from "../system/random-access.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";
import { differentPages, SqlitePages, StrangePage } from "./sqlite-pages.ts";

/** Where most of a table has changed, looking at all of it is as good, and takes no memory for a list. */
const MOST_LEAVES = 10_000;

/** The tables whose rows are told apart by rowids, each with the rowids of all rows that may differ between two files. */
export type ChangedRowids = ReadonlyMap<string, readonly bigint[]>;

/**
 * Finds rows that may differ without looking at those that can't: `main` of the connection began as the very bytes of `base`, so a leaf that is the same
 * page with the same bytes in both, and belongs to the table in both, holds the same rows. Undefined where that can't be relied on: then all rows
 * have to be compared. The connection reads from both, and nobody writes.
 */
export function changedRowids(db: SqliteDatabase, basePath: string): ChangedRowids | undefined {
  // What is in a log is not in the file.
  if ((factsOfPath(`${db.path}-wal`)?.size ?? 0) > 0) return undefined;
  using baseFile = new RandomAccess(basePath);
  using ownFile = new RandomAccess(db.path);
  try {
    const [base, own] = [new SqlitePages(baseFile), new SqlitePages(ownFile)];
    return candidates(db, base, own);
  } catch (thrown) {
    if (thrown instanceof StrangePage || thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

function candidates(db: SqliteDatabase, base: SqlitePages, own: SqlitePages): ChangedRowids | undefined {
  const different = differentPages(base, own);
  // The first page has the schema, which is compared as such.
  const unaccounted = new Set(different);
  unaccounted.delete(1);
  const found = new Map<string, readonly bigint[]>();
  for (const [name, root] of roots(db)) {
    const [before, after] = [base.tree(root.base), own.tree(root.main)];
    const both = new Set(before.leaves).intersection(new Set(after.leaves));
    const differs = (leaf: number) => !both.has(leaf) || different.has(leaf);
    const [old, fresh] = [before.leaves.filter(differs), after.leaves.filter(differs)];
    if (old.length + fresh.length <= MOST_LEAVES)
      found.set(name, [
        ...new Set([...old.flatMap((leaf) => base.rowids(leaf)), ...fresh.flatMap((leaf) => own.rowids(leaf))]),
      ]);
    for (const { inner, leaves } of [before, after]) for (const page of [...inner, ...leaves]) unaccounted.delete(page);
  }
  // A row may go on in a page that changed, while its leaf did not.
  return [...unaccounted].some((page) => base.mayGoOn(page) || own.mayGoOn(page)) ? undefined : found;
}

/** The first pages of the tables with rowids that are in both. */
function roots(db: SqliteDatabase): Map<string, { readonly base: number; readonly main: number }> {
  const rows = db.rows(
    `SELECT b.name, b.rootpage, m.rootpage FROM base.sqlite_schema AS b
     JOIN main.sqlite_schema AS m ON m.type = 'table' AND m.name = b.name AND m.sql IS b.sql
     JOIN pragma_table_list AS l ON l.schema = 'main' AND l.name = m.name AND l.wr = 0
     WHERE b.type = 'table' AND b.rootpage > 0 AND m.rootpage > 0`,
  );
  return new Map(rows.map(([name, base, main]) => [String(name), { base: Number(base), main: Number(main) }]));
}
