import { describe, it } from "node:test";
import fc from "fast-check";
import { assertInTime } from "../properties/property-runs.ts";
import { buildDatabase, changeDatabase, snapshotDatabase } from "../support/sample-database.ts";
import { assertSameTree } from "../support/tree-snapshot.ts";
import { DatabaseScene, PLAN } from "./database-scene.ts";

/**
 * The same statements in the sandbox and in a copy of the original by themselves end in the same database;
 * the undo in what was.
 */
async function assertExact(setUp: string, script: string): Promise<void> {
  using here = new DatabaseScene();
  using plain = new DatabaseScene();
  for (const each of [here, plain]) each.sql(setUp);
  const before = snapshotDatabase(here.database);
  plain.sql(script);
  await here.plan("");
  await here.with(async ({ plans }) => {
    here.sql(script, await plans.path(PLAN, "db"));
    await plans.apply(PLAN);
  });
  assertSameTree(snapshotDatabase(here.database), snapshotDatabase(plain.database), "after the apply");
  await here.with(({ plans }) => plans.undo(PLAN));
  assertSameTree(snapshotDatabase(here.database), before, "after the undo");
}

describe("what lands in a database", () => {
  for (const journal of ["wal", "delete"] as const)
    for (const change of ["rows", "schema"] as const)
      it(`[A11] is exact, with ${change} changed and journal_mode ${journal}; so is the undo`, async () => {
        using here = new DatabaseScene();
        using plain = new DatabaseScene();
        for (const { database } of [here, plain]) buildDatabase(database, { journal });
        const before = snapshotDatabase(here.database);
        changeDatabase(plain.database, { change });
        await here.plan("");
        await here.with(async ({ plans }) => {
          changeDatabase(await plans.path(PLAN, "db"), { change });
          await plans.apply(PLAN);
        });
        assertSameTree(snapshotDatabase(here.database), snapshotDatabase(plain.database), "after the apply");
        await here.with(({ plans }) => plans.undo(PLAN));
        assertSameTree(snapshotDatabase(here.database), before, "after the undo");
      });

  const CASES: readonly (readonly [title: string, setUp: string, script: string])[] = [
    [
      "text in UTF-16, and text that is not valid",
      "PRAGMA encoding = 'UTF-16le'; CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES ('ä', 'ö'), ('b', CAST(x'00d8' AS TEXT))",
      "UPDATE t SET v = CAST(x'ffdf41' AS TEXT); INSERT INTO t VALUES ('😀', 'x' || char(0) || 'y')",
    ],
    [
      "bytes in text that are not UTF-8, and NUL in text",
      "CREATE TABLE t(k TEXT PRIMARY KEY, v); INSERT INTO t VALUES (CAST(x'ff' AS TEXT), CAST(x'c328' AS TEXT)), ('a' || char(0) || 'b', 1)",
      "UPDATE t SET v = CAST(x'fe00ff' AS TEXT); INSERT INTO t VALUES (CAST(x'ff00' AS TEXT), 2), ('a' || char(0) || 'c', 3)",
    ],
    [
      "names with everything in them",
      `CREATE TABLE "a ""b'c;d\n/é"("select" INTEGER PRIMARY KEY, "x""y", "rowid", [z.w]); INSERT INTO "a ""b'c;d\n/é" VALUES (1, 2, 3, 4), (2, 3, 4, 5)`,
      `UPDATE "a ""b'c;d\n/é" SET "x""y" = 'new', "rowid" = 9; CREATE INDEX "i'""" ON "a ""b'c;d\n/é"("x""y"); CREATE TABLE "t%s"(a)`,
    ],
    [
      "primary keys without a value",
      "CREATE TABLE t(a TEXT, b, v, PRIMARY KEY (a, b)); INSERT INTO t VALUES (NULL, 1, 1), (NULL, 1, 2), ('x', NULL, 3), ('y', 1, 4)",
      "UPDATE t SET v = v + 10 WHERE v <> 2; DELETE FROM t WHERE v = 2; INSERT INTO t VALUES (NULL, NULL, 5)",
    ],
    [
      "values that must be unique and change places",
      "CREATE TABLE t(id INTEGER PRIMARY KEY, u UNIQUE); INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'c')",
      "UPDATE t SET u = 'tmp' WHERE id = 1; UPDATE t SET u = 'a' WHERE id = 2; UPDATE t SET u = 'b' WHERE id = 1; UPDATE t SET id = 9 WHERE id = 3",
    ],
    [
      "rows whose triggers would refuse or repeat them",
      `CREATE TABLE t(id INTEGER PRIMARY KEY, v); CREATE TABLE log(x); INSERT INTO t VALUES (1, 1), (2, 2);
      CREATE TRIGGER i AFTER INSERT ON t BEGIN INSERT INTO log VALUES ('i' || new.id); END;
      CREATE TRIGGER d BEFORE DELETE ON t BEGIN SELECT RAISE(ABORT, 'never') WHERE old.id = 1; INSERT INTO log VALUES ('d' || old.id); END;
      CREATE TRIGGER u AFTER UPDATE ON t BEGIN UPDATE t SET v = v + 1 WHERE id = new.id + 1; END`,
      "UPDATE t SET v = 5 WHERE id = 1; INSERT INTO t VALUES (3, 3); DELETE FROM t WHERE id = 2",
    ],
    [
      "checks that are not met, strict tables and generated columns",
      `CREATE TABLE t(id INTEGER PRIMARY KEY, v CHECK (v < 10), w AS (v * 2), x AS (v + 1) STORED UNIQUE); INSERT INTO t(v) VALUES (1), (2);
      CREATE TABLE s(a INT, b TEXT, c ANY) STRICT; INSERT INTO s VALUES (1, '1', 1.0)`,
      "PRAGMA ignore_check_constraints = ON; UPDATE t SET v = 20 WHERE id = 1; INSERT INTO s VALUES (2, '2', x'02'); UPDATE s SET c = '1.0' WHERE a = 1",
    ],
    [
      "AUTOINCREMENT that has gone further than the rows, and a new table with it",
      "CREATE TABLE t(id INTEGER PRIMARY KEY AUTOINCREMENT, v); INSERT INTO t(v) VALUES (1)",
      "INSERT INTO t(v) VALUES (2), (3); DELETE FROM t WHERE id > 1; CREATE TABLE u(id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO u VALUES (50); DELETE FROM u",
    ],
    [
      "the first AUTOINCREMENT there is",
      "CREATE TABLE t(a)",
      "CREATE TABLE u(id INTEGER PRIMARY KEY AUTOINCREMENT); INSERT INTO u VALUES (5)",
    ],
    [
      "a table that is made anew as migrations do it",
      `CREATE TABLE p(id INTEGER PRIMARY KEY); CREATE TABLE t(id INTEGER PRIMARY KEY, a, old, p REFERENCES p); CREATE INDEX ia ON t(a);
      CREATE TRIGGER tr AFTER INSERT ON t BEGIN UPDATE p SET id = id; END; CREATE VIEW v AS SELECT a FROM t; INSERT INTO p VALUES (1); INSERT INTO t VALUES (1, 2, 3, 1)`,
      `PRAGMA foreign_keys = OFF; PRAGMA legacy_alter_table = ON; BEGIN; CREATE TABLE new_t(id INTEGER PRIMARY KEY, a TEXT NOT NULL DEFAULT 'x', p REFERENCES p); INSERT INTO new_t SELECT id, a, p FROM t;
      DROP TABLE t; ALTER TABLE new_t RENAME TO t; CREATE INDEX ia ON t(a); COMMIT`,
    ],
    [
      "virtual tables that come, go and change",
      "CREATE VIRTUAL TABLE gone USING fts5(a); INSERT INTO gone VALUES ('x'); CREATE VIRTUAL TABLE box USING rtree(id, x0, x1); INSERT INTO box VALUES (1, 0, 1)",
      "DROP TABLE gone; CREATE VIRTUAL TABLE fresh USING fts5(b, content=''); INSERT INTO fresh(rowid, b) VALUES (1, 'words'); INSERT INTO box VALUES (2, 5, 6); DELETE FROM box WHERE id = 1",
    ],
    [
      "views with triggers",
      "CREATE TABLE t(a); CREATE VIEW v AS SELECT a FROM t; CREATE TRIGGER vi INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES (new.a); END",
      "DROP VIEW v; CREATE VIEW v AS SELECT a AS a, 1 AS b FROM t; CREATE TRIGGER vi INSTEAD OF INSERT ON v BEGIN INSERT INTO t VALUES (new.b); END; INSERT INTO v VALUES (7, 8)",
    ],
    [
      "everything dropped",
      "CREATE TABLE t(a); CREATE INDEX i ON t(a); CREATE VIEW v AS SELECT * FROM t; INSERT INTO t VALUES (1); ANALYZE",
      "DROP VIEW v; DROP TABLE t",
    ],
  ];
  for (const [title, setUp, script] of CASES)
    it(`[A11] is exact: ${title}`, () => assertExact(setUp, script));

  it("[A11] is exact, whatever the rows are", async () => {
    const value = fc.oneof(
      fc.constantFrom(
        "NULL",
        "0",
        "1",
        "1.0",
        "'1'",
        "x'31'",
        "-1",
        "9223372036854775807",
        "1e300",
        "''",
        "'a'",
        "'A'",
        "0.1",
      ),
      fc.integer({ min: -3, max: 3 }).map(String),
    );
    const statement = fc.oneof(
      fc
        .tuple(fc.constantFrom("a", "b", "c", "d"), value, value)
        .map(([t, k, v]) => `INSERT OR REPLACE INTO ${t} VALUES (${k}, ${v})`),
      fc
        .tuple(fc.constantFrom("a", "b", "c", "d"), value, value)
        .map(([t, k, v]) => `UPDATE OR IGNORE ${t} SET k = ${k} WHERE v IS ${v}`),
      fc
        .tuple(fc.constantFrom("a", "b", "c", "d"), value)
        .map(([t, v]) => `DELETE FROM ${t} WHERE v IS ${v} OR k IS ${v}`),
    );
    const tables = `CREATE TABLE a(k PRIMARY KEY, v); CREATE TABLE b(k TEXT COLLATE NOCASE PRIMARY KEY, v) ; CREATE TABLE c(k, v);
      CREATE TABLE d(k NOT NULL PRIMARY KEY, v) WITHOUT ROWID;`;
    const scripts = fc.array(statement, { maxLength: 12 });
    await assertInTime(
      fc.asyncProperty(scripts, scripts, (first, then) =>
        assertExact([tables, ...first.map(orNothing)].join("\n"), then.map(orNothing).join("\n")),
      ),
      13,
      5,
    );
  });
});

/** A statement that a constraint refuses changes nothing and stops nothing. */
function orNothing(statement: string): string {
  return `${statement.replace("INSERT OR REPLACE INTO d VALUES (NULL", "INSERT OR IGNORE INTO d VALUES (NULL")};`;
}
