import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it, type TestContext } from "node:test";
import { type ChangedRowids, changedRowids } from "./changed-rowids.ts";
import { recordChanges } from "./sqlite-changes.ts";
import { SqliteDatabase } from "./sqlite-database.ts";

const ROWS = 1_500;
const BEGIN = `CREATE TABLE plain(id INTEGER PRIMARY KEY, a, b); CREATE TABLE named(name TEXT PRIMARY KEY, v);
  CREATE TABLE bare(v); CREATE TABLE still(v); CREATE TABLE pairs(x, y, PRIMARY KEY (y, x)) WITHOUT ROWID; CREATE INDEX plain_b ON plain(b);
  WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS}) INSERT INTO plain SELECT i * 3, hex(zeroblob(i % 50)), i FROM n;
  INSERT INTO named SELECT 'name ' || id, b FROM plain; INSERT INTO bare SELECT b FROM plain; INSERT INTO still SELECT b FROM plain;
  INSERT INTO pairs SELECT id, b FROM plain; INSERT INTO plain VALUES (-5, 'negative', 1), (9223372036854775807, 'largest', 2), (300000, hex(zeroblob(9000)), 3);`;

/** The changes of a sandbox, by their effect on pages. */
const WORK: { readonly [what: string]: string } = {
  "a row changes": "UPDATE plain SET a = 'x' WHERE id = 300",
  "rows change all over":
    "UPDATE plain SET a = a || 'x' WHERE id % 31 = 0; UPDATE bare SET v = -v WHERE rowid % 200 = 0",
  "the first and the last row change": "UPDATE plain SET a = 'x' WHERE id IN (-5, 9223372036854775807)",
  "only an index would show it": "UPDATE plain SET b = b + 0.5 WHERE id = 600",
  "a key changes":
    "UPDATE named SET name = 'other' WHERE name = 'name 300'; UPDATE named SET v = NULL WHERE name = 'name 303'",
  "rows go, and their pages": "DELETE FROM plain WHERE id BETWEEN 500 AND 3000; DELETE FROM bare",
  "rows come": "INSERT INTO bare SELECT id FROM plain; INSERT INTO plain(a) SELECT 'x' FROM still LIMIT 3",
  "rows go and come again as they were":
    "CREATE TEMP TABLE t AS SELECT * FROM plain; DELETE FROM plain; INSERT INTO plain SELECT * FROM t",
  "a row changes far beyond its page":
    "UPDATE plain SET a = substr(a, 1, 17000) || 'x' || substr(a, 17002) WHERE id = 300000",
  "a row of pairs changes": "UPDATE pairs SET x = -x WHERE y = 70",
  "a table is made anew":
    "CREATE TABLE t(v); INSERT INTO t SELECT v FROM bare; DROP TABLE bare; ALTER TABLE t RENAME TO bare; UPDATE bare SET v = 0 WHERE rowid = 9",
  "everything is packed": "DELETE FROM plain WHERE id % 2; VACUUM",
  nothing: "SELECT 1",
};

describe("the rows that are worth a look", () => {
  let folder = "";
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "drydock-rowids-"));
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  /** The record of a comparison: of all rows, or of the candidates only. */
  function recorded(name: string, find: (db: SqliteDatabase) => ChangedRowids | undefined): string {
    const out = join(folder, `${name}.out`);
    rmSync(out, { force: true });
    using db = new SqliteDatabase(join(folder, "own.db"), "write");
    db.attach(join(folder, "base.db"), "frozen", "base");
    db.attach(out, "create", "out");
    recordChanges(db, () => find(db));
    const tables = db
      .rows("SELECT name FROM out.sqlite_schema WHERE type = 'table' ORDER BY name")
      .map(String);
    const names = new Map(
      db.rows("SELECT n, name FROM out.tables").map(([n, table]) => [String(n), String(table)]),
    );
    const lines = tables
      .filter((table) => table !== "tables")
      .map((table) => {
        const named = table.replace(/\d+$/, (n) => names.get(n) ?? n);
        return `${named}: ${db.rows(`SELECT * FROM out.${table} ORDER BY 1, 2`).join(" ")}`;
      });
    return lines.sort().join("\n");
  }

  function compare(
    t: TestContext,
    pragmas: string,
    work: string,
    meanwhile: () => void = () => undefined,
  ): ReadonlyMap<string, number> | undefined {
    for (const name of ["base", "own"]) rmSync(join(folder, `${name}.db`), { force: true });
    edit("base.db", `${pragmas}; ${BEGIN}`);
    copyFileSync(join(folder, "base.db"), join(folder, "own.db"));
    edit("own.db", work);
    meanwhile();
    let found: ChangedRowids | undefined;
    const some = recorded("some", (db) => {
      found = changedRowids(db, join(folder, "base.db"));
      return found;
    });
    assert.equal(
      some,
      recorded("all", () => undefined),
      `${pragmas}: ${work}`,
    );
    const counts =
      found === undefined ? undefined : new Map([...found].map(([table, rowids]) => [table, rowids.length]));
    t.diagnostic(counts === undefined ? "all rows" : [...counts].map(String).join(" "));
    return counts;
  }

  function edit(name: string, sql: string): void {
    using db = new DatabaseSync(join(folder, name));
    db.exec(sql);
  }

  for (const [what, work] of Object.entries(WORK))
    it(`give what all rows give: ${what}`, (t) => {
      for (const pragmas of ["PRAGMA page_size = 512", "PRAGMA page_size = 4096; PRAGMA auto_vacuum = FULL"])
        compare(t, pragmas, work);
    });

  it("are only those that changed, and none of a table in which nothing has", (t) => {
    const counts = compare(t, "PRAGMA page_size = 1024", WORK["a row changes"] ?? "");
    assert.ok(counts !== undefined);
    assert.equal(counts.get("still"), 0);
    assert.equal(counts.get("plain"), 1);
  });

  it("are all of them where changes are still in the log", (t) => {
    let open: DatabaseSync | undefined;
    try {
      const found = compare(t, "PRAGMA journal_mode = wal", "", () => {
        open = new DatabaseSync(join(folder, "own.db"));
        open.exec("UPDATE plain SET a = 'x' WHERE id = 300");
      });
      assert.equal(found, undefined);
    } finally {
      open?.close();
    }
  });

  it("are looked for in files that do not change meanwhile, even if another connection writes to the log or checkpoints it", (t) => {
    compare(t, "PRAGMA journal_mode = wal", WORK["a row changes"] ?? "");
    const expected = recorded("before", () => undefined);
    const own = join(folder, "own.db");
    const found = recorded("meanwhile", (db) => {
      const bytes = readFileSync(own);
      const rowids = changedRowids(db, join(folder, "base.db"));
      edit("own.db", "UPDATE plain SET a = 'rival' WHERE id = 600; PRAGMA wal_checkpoint(FULL)");
      assert.ok(readFileSync(own).equals(bytes), "the file was changed while it was read");
      assert.deepEqual([...(rowids?.get("plain") ?? [])], [300]);
      return rowids;
    });
    assert.equal(found, expected);
    assert.match(
      recorded("after", () => undefined),
      /rival/,
    );
  });

  it("are all of them where a row continues in other pages", (t) => {
    assert.equal(
      compare(t, "PRAGMA page_size = 1024", WORK["a row changes far beyond its page"] ?? ""),
      undefined,
    );
  });
});
