import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AtomicCommitError } from "../../src/core/errors/errors.ts";
import { DatabaseScene, PLAN } from "./database-scene.ts";

const TABLES = `
  CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT UNIQUE, age);
  INSERT INTO users VALUES (1, 'ann', 30), (2, 'bob', 40), (3, 'cy', 50);
  CREATE TABLE tags(tag TEXT PRIMARY KEY, n) ;
  INSERT INTO tags VALUES ('x', 1), ('y', 2);
  CREATE TABLE log(line);
  INSERT INTO log VALUES ('first'), ('second');
  CREATE TABLE orders(id INTEGER PRIMARY KEY, user INTEGER REFERENCES users(id));
  INSERT INTO orders VALUES (1, 1);`;

function scene(journal = "wal"): DatabaseScene {
  const made = new DatabaseScene();
  made.sql(`PRAGMA journal_mode = ${journal}; ${TABLES}`);
  return made;
}

/** The paths in conflict; none if it landed. */
async function conflictsOf(at: DatabaseScene, operation: "apply" | "undo" = "apply"): Promise<string[]> {
  try {
    await at.with(({ plans }) => plans[operation](PLAN));
    return [];
  } catch (thrown) {
    assert.ok(thrown instanceof AtomicCommitError, String(thrown));
    assert.deepEqual(thrown.notUndone, []);
    assert.ok(thrown.conflicts.length > 0, thrown.message);
    return thrown.conflicts.map(({ path }) => path);
  }
}

describe("a database that others write to meanwhile", () => {
  const CASES = [
    [
      "both change a row",
      "UPDATE users SET age = 31 WHERE id = 1",
      "UPDATE users SET age = 32 WHERE id = 1",
      ["users/1"],
    ],
    [
      "both change a row, in other columns",
      "UPDATE users SET age = 31 WHERE id = 1",
      "UPDATE users SET name = 'x' WHERE id = 1",
      ["users/1"],
    ],
    [
      "the plan changes what is deleted",
      "UPDATE users SET age = 31 WHERE id = 2",
      "DELETE FROM users WHERE id = 2",
      ["users/2"],
    ],
    [
      "the plan deletes what is changed",
      "DELETE FROM users WHERE id = 2",
      "UPDATE users SET age = 0 WHERE id = 2",
      ["users/2"],
    ],
    [
      "both add a row with one key",
      "INSERT INTO users VALUES (4, 'dd', 1)",
      "INSERT INTO users VALUES (4, 'ee', 1)",
      ["users/4"],
    ],
    [
      "both add a row with a text key",
      "INSERT INTO tags VALUES ('z', 1)",
      "INSERT INTO tags VALUES ('z', 2)",
      ["tags/z"],
    ],
    [
      "both add to a table without a key",
      "INSERT INTO log VALUES ('ours')",
      "INSERT INTO log VALUES ('theirs')",
      ["log/3"],
    ],
    [
      "two rows must not have the same name",
      "INSERT INTO users VALUES (4, 'dd', 1)",
      "INSERT INTO users VALUES (5, 'dd', 1)",
      ["users"],
    ],
    [
      "what a new row refers to is deleted",
      "INSERT INTO orders VALUES (2, 3)",
      "DELETE FROM users WHERE id = 3",
      ["orders/2"],
    ],
    [
      "what the plan deletes is referred to",
      "DELETE FROM users WHERE id = 3",
      "INSERT INTO orders VALUES (2, 3)",
      ["orders/2"],
    ],
    [
      "a table that the plan writes to is altered",
      "UPDATE users SET age = 1 WHERE id = 1",
      "ALTER TABLE users ADD COLUMN more",
      ["users"],
    ],
    [
      "the plan alters, and a row changes elsewhere",
      "ALTER TABLE tags ADD COLUMN more",
      "UPDATE users SET age = 1 WHERE id = 2",
      ["users/2"],
    ],
    ["both alter", "ALTER TABLE tags ADD COLUMN more", "CREATE TABLE other(a)", ["other"]],
    ["both set the version", "PRAGMA user_version = 2", "PRAGMA user_version = 3", ["user_version"]],
  ] as const;
  for (const [at, [title, ours, theirs, paths]] of CASES.entries())
    it(`[A15][A7] ${title}: nothing lands, and what is in the way is named`, async () => {
      using here = scene(at % 2 === 0 ? "wal" : "delete");
      await here.plan(ours);
      here.sql(theirs);
      const dump = () =>
        ["users", "tags", "log", "orders"].map((table) => here.rows(`SELECT * FROM ${table}`));
      const before = dump();
      assert.deepEqual(await conflictsOf(here), paths);
      assert.deepEqual(dump(), before, "the original changed");
      const { changes } = await here.with(({ plans }) => plans.diff(PLAN));
      assert.ok(changes.length > 0, "the work is gone");
    });

  it("[A15] changes of other rows are kept, and both end up in the original", async () => {
    using here = scene();
    await here.plan(
      "UPDATE users SET age = 31 WHERE id = 1; INSERT INTO tags VALUES ('ours', 1); DELETE FROM log WHERE rowid = 1",
    );
    here.sql(
      "UPDATE users SET age = 0 WHERE id = 2; INSERT INTO tags VALUES ('theirs', 1); CREATE INDEX age ON users(age)",
    );
    assert.deepEqual(await conflictsOf(here), []);
    assert.deepEqual(here.rows("SELECT id, age FROM users ORDER BY id"), [
      [1, 31],
      [2, 0],
      [3, 50],
    ]);
    assert.deepEqual(here.rows("SELECT tag FROM tags ORDER BY 1"), [["ours"], ["theirs"], ["x"], ["y"]]);
    assert.deepEqual(here.rows("PRAGMA integrity_check"), [["ok"]]);
    assert.deepEqual(await conflictsOf(here, "undo"), []);
    assert.deepEqual(here.rows("SELECT id, age FROM users ORDER BY id"), [
      [1, 30],
      [2, 0],
      [3, 50],
    ]);
    assert.deepEqual(here.rows("SELECT tag FROM tags ORDER BY 1"), [["theirs"], ["x"], ["y"]]);
  });

  it("[A15] who made the same change is not in the way", async () => {
    using here = scene();
    const change =
      "UPDATE users SET age = 31 WHERE id = 1; DELETE FROM users WHERE id = 2; INSERT INTO users VALUES (9, 'n', 1)";
    await here.plan(`${change}; INSERT INTO tags VALUES ('z', 1)`);
    here.sql(change);
    assert.deepEqual(await conflictsOf(here), []);
    assert.deepEqual(here.rows("SELECT id, age FROM users ORDER BY id"), [
      [1, 31],
      [3, 50],
      [9, 1],
    ]);
  });

  it("[A15] a key that differs only in case is the same one where the table says so", async () => {
    using here = scene();
    here.sql("CREATE TABLE words(word TEXT PRIMARY KEY COLLATE NOCASE, n)");
    await here.plan("INSERT INTO words VALUES ('Boat', 1)");
    here.sql("INSERT INTO words VALUES ('boat', 2)");
    assert.deepEqual(await conflictsOf(here), ["words/Boat"]);
  });

  it("[A18][A15] an undo is refused with the rows that changed since", async () => {
    using here = scene();
    await here.plan("UPDATE users SET age = age + 1; INSERT INTO tags VALUES ('z', 1)");
    await here.with(({ plans }) => plans.apply(PLAN));
    here.sql(
      "UPDATE users SET age = 0 WHERE id = 2; DELETE FROM tags WHERE tag = 'z'; UPDATE tags SET n = 7",
    );
    assert.deepEqual(await conflictsOf(here, "undo"), ["users/2"]);
    here.sql("UPDATE users SET age = 41 WHERE id = 2");
    assert.deepEqual(await conflictsOf(here, "undo"), []);
    assert.deepEqual(here.rows("SELECT age FROM users"), [[30], [40], [50]]);
    assert.deepEqual(here.rows("SELECT * FROM tags"), [
      ["x", 7],
      ["y", 7],
    ]);
  });

  it("[A18][A15] an undo of changed definitions is refused if a table has got rows since", async () => {
    using here = scene();
    await here.plan("ALTER TABLE tags ADD COLUMN more DEFAULT 1; CREATE TABLE made(a)");
    await here.with(({ plans }) => plans.apply(PLAN));
    here.sql(
      "INSERT INTO made VALUES (1); CREATE INDEX theirs ON tags(n); UPDATE users SET age = 1 WHERE id = 1",
    );
    assert.deepEqual((await conflictsOf(here, "undo")).sort(), ["made/1", "theirs"]);
    here.sql("DELETE FROM made; DROP INDEX theirs");
    assert.deepEqual(await conflictsOf(here, "undo"), []);
    assert.deepEqual(here.rows("SELECT * FROM tags"), [
      ["x", 1],
      ["y", 2],
    ]);
    assert.deepEqual(here.rows("SELECT age FROM users WHERE id = 1"), [[1]]);
  });

  it("[A18] an undo whose record was damaged is refused", async () => {
    using here = scene();
    await here.plan("UPDATE users SET age = age + 1");
    await here.with(({ plans }) => plans.apply(PLAN));
    const [record = ""] = here.records();
    here.sql("UPDATE before_1 SET c2 = 99", record);
    await assert.rejects(
      here.with(({ plans }) => plans.undo(PLAN)),
      /missing or damaged/,
    );
    assert.deepEqual(here.rows("SELECT age FROM users"), [[31], [41], [51]]);
  });
});
