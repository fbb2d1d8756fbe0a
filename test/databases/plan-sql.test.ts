import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { after, before, describe, it } from "node:test";
import { assertRefused, Workplace } from "../end-to-end/workplace.ts";

describe("drydock plan sql", () => {
  let place: Workplace;
  let database: string;
  before(() => {
    place = new Workplace();
    database = join(place.path, "app.db");
    const db = new DatabaseSync(database);
    db.exec(
      "CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'one'), (9007199254740993, NULL)",
    );
    db.close();
    place.done("plan", "create", "--name", "p", "-r", "app.db");
  });
  after(() => place[Symbol.dispose]());

  it("shows rows as a table, and what was changed", () => {
    assert.equal(
      place.done(
        "plan",
        "sql",
        "p",
        "app.db",
        "-c",
        "SELECT * FROM t; INSERT INTO t VALUES (2, x'00ff'); SELECT count(*) AS n FROM t",
      ),
      "id                v\n1                 one\n9007199254740993  NULL\n(2 rows)\n\n1 row changed\n\nn\n3\n(1 row)\n",
    );
  });

  it("takes a file from standard input, and the only plan and resource without their names", () => {
    const script =
      "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; SELECT 2; END; -- a ; in a comment\nINSERT INTO t VALUES (3, 'a;b');";
    assert.equal(place.drydock(["plan", "sql"], { input: script }).status, 0);
    assert.match(place.done("plan", "sql", "app.db", "-c", "SELECT v FROM t WHERE id = 3"), /a;b/);
  });

  it("gives exact JSON", () => {
    const text = place.done(
      "plan",
      "sql",
      "p",
      "app.db",
      "--json",
      "-c",
      "SELECT id, v FROM t WHERE id <> 3 ORDER BY id",
    );
    assert.equal(
      text.trim(),
      '{"results":[{"columns":["id","v"],"rows":[[1,"one"],[2,{"base64":"AP8="}],[9007199254740993,null]],"changes":0}]}',
    );
  });

  it("[X4] a statement that fails is named, ends with 1, and leaves nothing of the script", () => {
    const ended = place.drydock([
      "plan",
      "sql",
      "p",
      "app.db",
      "-c",
      "INSERT INTO t VALUES (50, 0); INSERT INTO t VALUES (1, 0)",
    ]);
    assertRefused(ended, 1, /The statement 2 of 2 failed: UNIQUE constraint failed: t\.id/);
    assert.match(
      place.done("plan", "sql", "p", "app.db", "-c", "SELECT count(*) FROM t WHERE id = 50"),
      /^count\(\*\)\n0\n/,
    );
    assertRefused(place.drydock(["plan", "sql", "p", "app.db", "-c", "SELEC 1"]), 1, /syntax error/);
    const { error } = JSON.parse(
      place.drydock(["plan", "sql", "p", "app.db", "--json", "-c", "SELECT nothing"]).stdout,
    );
    assert.equal(error.code, "SQL");
  });

  it("[X1] no statement gets out of the sandbox", () => {
    for (const sql of [
      `ATTACH '${database}' AS original`,
      `VACUUM INTO '${join(place.path, "out.db")}'`,
      "SELECT load_extension('x')",
    ])
      assert.equal(place.drydock(["plan", "sql", "p", "app.db", "-c", sql]).status, 1, sql);
    assert.ok(!existsSync(join(place.path, "out.db")));
    place.done("plan", "sql", "p", "app.db", "-c", "VACUUM");
  });

  it("[X5] a resource that is no database, and one that is not there, are refused", () => {
    place.folder("code", { a: "a\n" });
    place.done("plan", "create", "--name", "other", "-r", "code");
    assertRefused(place.drydock(["plan", "sql", "other", "code", "-c", "SELECT 1"]), 2, /it is no database/);
    assertRefused(place.drydock(["plan", "sql", "p", "nothing", "-c", "SELECT 1"]), 2, /no resource called/);
    assertRefused(place.drydock(["plan", "sql", "nothing", "app.db", "-c", "SELECT 1"]), 2, /plan/);
    place.done("plan", "cancel", "other");
  });

  it("[L8] in a read-only plan it looks and changes nothing", () => {
    place.done("plan", "create", "--name", "looking", "--read-only", "-r", "app.db");
    assert.match(place.done("plan", "sql", "looking", "app.db", "-c", "SELECT v FROM t"), /one/);
    for (const sql of ["DELETE FROM t", "PRAGMA query_only = OFF; DELETE FROM t", "CREATE TABLE x(a)"])
      assert.notEqual(place.drydock(["plan", "sql", "looking", "app.db", "-c", sql]).status, 0, sql);
    assert.deepEqual(place.answer("plan", "diff", "looking").changes, []);
    place.done("plan", "cancel", "looking");
  });

  it("reads a table as lines of JSON, and writes what is called .sql", () => {
    assert.equal(place.done("plan", "read", "p", "app.db", "t").split("\n")[0], '{"id":1,"v":"one"}');
    assert.match(place.done("plan", "read", "p", "app.db", "."), /"name":"t"/);
    assert.equal(
      place.drydock(["plan", "write", "p", "app.db", "more.sql"], {
        input: "UPDATE t SET v = 'new' WHERE id = 1;",
      }).status,
      0,
    );
    assertRefused(
      place.drydock(["plan", "write", "p", "app.db", "t"], { input: "x" }),
      2,
      /takes statements/,
    );
    assertRefused(place.drydock(["plan", "read", "p", "app.db", "none"]), 2, /no table called/);
    assert.match(place.done("plan", "diff", "p"), /^M {2}app\.db\/t\/1 +row/m);
  });
});
