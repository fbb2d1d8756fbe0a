import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { describe, it } from "node:test";
import { AtomicCommitError } from "../../src/core/errors/errors.ts";
import type { Resolution } from "../../src/core/values/merge.ts";
import { openServices } from "../../src/runtime.ts";
import type { Services } from "../../src/services.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { IS_LONG } from "../support/long-form.ts";
import { DatabaseScene, PLAN } from "./database-scene.ts";

const TABLES = `
  CREATE TABLE users(id INTEGER PRIMARY KEY, name TEXT UNIQUE, age, note, CHECK (age <> note));
  INSERT INTO users VALUES (1, 'ann', 30, NULL), (2, 'bob', 40, NULL), (3, 'cy', 50, NULL);
  CREATE TABLE tags(tag TEXT PRIMARY KEY COLLATE NOCASE, n, m) WITHOUT ROWID;
  INSERT INTO tags VALUES ('x', 1, 1), ('y', 2, 2);
  CREATE TABLE log(line);
  INSERT INTO log VALUES ('first'), ('second');
  CREATE TABLE orders(id INTEGER PRIMARY KEY, user INTEGER REFERENCES users(id));
  INSERT INTO orders VALUES (1, 1);
  CREATE TRIGGER noted AFTER UPDATE ON tags BEGIN INSERT INTO log VALUES ('n ' || new.n || ', m ' || new.m); END;
  CREATE VIEW old AS SELECT name FROM users WHERE age > 40;`;

/** A database, and one opened Drydock with a plan over it. */
class UpdateScene implements AsyncDisposable {
  readonly here: DatabaseScene;
  readonly #drydock: Services;

  private constructor(here: DatabaseScene, drydock: Services) {
    this.here = here;
    this.#drydock = drydock;
  }

  /** What the plan changes, and what another writer changes then. */
  static async open(ours: string, theirs: string, { journal = "wal", more = "" } = {}): Promise<UpdateScene> {
    const here = new DatabaseScene("app.db", fastFolder());
    here.sql(`PRAGMA journal_mode = ${journal}; ${TABLES}; ${more}`);
    const drydock = await openServices({ stateDir: here.stateDir, cwd: here.root, environment: {} });
    const scene = new UpdateScene(here, drydock);
    await scene.plan(ours);
    here.sql(theirs);
    return scene;
  }

  async plan(ours: string): Promise<void> {
    await this.plans.create({ name: PLAN, resources: [{ location: this.here.database, name: "db" }] });
    await this.plans.sql(PLAN, "db", ours);
  }

  get plans() {
    return this.#drydock.plans;
  }

  async update() {
    const { merged, unmerged, checkpoint = "" } = await this.#drydock.updates.update(PLAN);
    const names = (paths: readonly { readonly path: string }[]) => paths.map(({ path }) => path).sort();
    return { found: { merged: names(merged), unmerged: names(unmerged) }, checkpoint };
  }

  async resolve(path: string, how: Resolution) {
    return await this.#drydock.updates.resolve(PLAN, { path, how });
  }

  async restore(checkpoint: string): Promise<void> {
    await this.#drydock.checkpoints.restore(PLAN, checkpoint);
  }

  /** The paths in conflict; none if it landed. */
  async apply(): Promise<readonly string[]> {
    try {
      await this.plans.apply(PLAN);
      return [];
    } catch (thrown) {
      assert.ok(thrown instanceof AtomicCommitError && thrown.conflicts.length > 0, String(thrown));
      return thrown.conflicts.map(({ path }) => path);
    }
  }

  /** All rows of the original, or of the copy. */
  theirs(): unknown[][][] {
    return ALL.map((query) => this.here.rows(query));
  }

  async ours(): Promise<unknown[][][]> {
    const path = await this.plans.path(PLAN);
    return ALL.map((query) => this.here.rows(query, path));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#drydock.close();
    this.here[Symbol.dispose]();
  }
}

const ALL = ["users", "tags", "log", "orders"].map((table) => `SELECT * FROM ${table} ORDER BY 1`);
/** In the normal form, each case is settled in one of the two ways. */
const waysOf = (at: number) => (["ours", "theirs"] as const).filter((_, way) => IS_LONG || at % 2 === way);

describe("an update of a plan over a SQLite database", () => {
  it("[V9] merges rows by column, lands both changes, and an undo gives the other writer's rows back", async () => {
    await using scene = await UpdateScene.open(
      "UPDATE users SET age = 31 WHERE id = 1; UPDATE tags SET n = 9 WHERE tag = 'x'; INSERT INTO users VALUES (7, 'gil', 1, 2); DELETE FROM users WHERE id = 3",
      "UPDATE users SET note = 'theirs' WHERE id = 1; UPDATE tags SET m = 8, tag = 'X' WHERE tag = 'x'; UPDATE users SET age = 41 WHERE id = 2; INSERT INTO orders VALUES (5, 2)",
    );
    const theirs = scene.theirs();
    assert.notDeepEqual(await scene.apply(), []);
    const { found } = await scene.update();
    assert.deepEqual(found, { merged: ["log/3", "tags/x", "users/1"], unmerged: [] });
    assert.deepEqual(scene.theirs(), theirs, "the original is touched");
    const both = [
      [
        [1, "ann", 31, "theirs"],
        [2, "bob", 41, null],
        [7, "gil", 1, 2],
      ],
      [
        ["X", 9, 8],
        ["y", 2, 2],
      ],
      [["first"], ["n 1, m 8"], ["n 9, m 1"], ["second"]],
      [
        [1, 1],
        [5, 2],
      ],
    ];
    assert.deepEqual(await scene.ours(), both);
    assert.deepEqual(await scene.apply(), []);
    assert.deepEqual(scene.theirs(), both);
    assert.deepEqual(scene.here.rows("PRAGMA integrity_check"), [["ok"]]);
    await scene.plans.undo(PLAN);
    assert.deepEqual(scene.theirs(), theirs);
  });

  const ROWS = [
    [
      "the same column",
      "UPDATE users SET age = 31 WHERE id = 1",
      "UPDATE users SET age = 32 WHERE id = 1",
      1,
    ],
    ["a row that is deleted", "UPDATE users SET age = 31 WHERE id = 2", "DELETE FROM users WHERE id = 2", 2],
    ["a row that is changed", "DELETE FROM users WHERE id = 2", "UPDATE users SET age = 0 WHERE id = 2", 2],
    [
      "one key twice",
      "INSERT INTO users VALUES (4, 'dd', 1, 2)",
      "INSERT INTO users VALUES (4, 'ee', 3, 4)",
      4,
    ],
    [
      "columns that break a constraint together",
      "UPDATE users SET age = 5 WHERE id = 3",
      "UPDATE users SET note = 5 WHERE id = 3",
      3,
    ],
    [
      "a row that a new one refers to",
      "INSERT INTO orders VALUES (2, 3)",
      "DELETE FROM users WHERE id = 3",
      "orders/2",
    ],
    ["a row that is referred to", "DELETE FROM users WHERE id = 3", "INSERT INTO orders VALUES (2, 3)", 3],
  ] as const;
  for (const [at, [title, ours, theirs, key]] of ROWS.entries())
    it(`[V9] ${title}: it is named, nothing of it is lost, and 'resolve' settles it`, async () => {
      const path = typeof key === "number" ? `users/${key}` : key;
      for (const how of waysOf(at)) {
        await using scene = await UpdateScene.open(
          `${ours}; UPDATE tags SET n = 9 WHERE tag = 'x'`,
          `${theirs}; UPDATE tags SET m = 8 WHERE tag = 'x'`,
        );
        const [before, mine] = [scene.theirs(), await scene.ours()];
        assert.deepEqual((await scene.update()).found, { merged: ["log/3", "tags/x"], unmerged: [path] });
        assert.deepEqual(scene.theirs(), before, "the original is touched");
        assert.deepEqual(await scene.apply(), [path]);
        // Another update changes nothing of that.
        assert.deepEqual((await scene.update()).found, { merged: [], unmerged: [path] });
        await assert.rejects(scene.resolve("users/9", how), /not in conflict/);
        await assert.rejects(scene.resolve(path, "keep-both"), /kept twice/);
        await scene.resolve(path, how);
        await assert.rejects(scene.resolve(path, how), /not in conflict/);
        assert.deepEqual(await scene.apply(), []);
        const [table, id] = path.split("/");
        const row = (tables: unknown[][][]) =>
          tables[table === "users" ? 0 : 3]?.find(([first]) => String(first) === id);
        assert.deepEqual(row(scene.theirs()), row(how === "ours" ? mine : before), how);
        assert.deepEqual(scene.here.rows("SELECT * FROM tags WHERE tag = 'x'"), [["x", 9, 8]]);
        await scene.plans.undo(PLAN);
        assert.deepEqual(scene.theirs(), before);
      }
    });

  it("[V9] a conflict is settled too by changing the row in the sandbox, and comes again with the next change", async () => {
    await using scene = await UpdateScene.open(
      "UPDATE users SET age = 31, note = 'ours' WHERE id = 1; UPDATE users SET age = 1 WHERE id = 2",
      "UPDATE users SET age = 32 WHERE id = 1; UPDATE users SET note = 2 WHERE id = 2",
      { journal: "delete" },
    );
    assert.deepEqual((await scene.update()).found, { merged: ["users/2"], unmerged: ["users/1"] });
    await scene.plans.sql(PLAN, "db", "UPDATE users SET age = 33 WHERE id = 1");
    scene.here.sql("UPDATE users SET age = 34 WHERE id = 1");
    assert.deepEqual((await scene.update()).found, { merged: [], unmerged: ["users/1"] });
    await scene.resolve("users/1", "ours");
    assert.deepEqual(await scene.apply(), []);
    assert.deepEqual(scene.here.rows("SELECT * FROM users WHERE id < 3"), [
      [1, "ann", 33, "ours"],
      [2, "bob", 1, 2],
    ]);
  });

  it("[V9] can be taken back: the work and its conflict are there again", async () => {
    await using scene = await UpdateScene.open(
      "UPDATE users SET age = 31 WHERE id = 1; UPDATE users SET age = 31 WHERE id = 2",
      "UPDATE users SET note = 1 WHERE id = 1; UPDATE users SET age = 1 WHERE id = 2",
    );
    const [before, work] = [await scene.ours(), await scene.plans.diff(PLAN)];
    const { found, checkpoint } = await scene.update();
    assert.deepEqual(found, { merged: ["users/1"], unmerged: ["users/2"] });
    const updated = await scene.ours();
    await scene.restore((await scene.resolve("users/2", "theirs")).checkpoint);
    assert.deepEqual(await scene.ours(), updated);
    assert.deepEqual(await scene.apply(), ["users/2"]);
    await scene.restore(checkpoint);
    assert.deepEqual(await scene.ours(), before);
    assert.deepEqual(await scene.plans.diff(PLAN), work);
    assert.deepEqual(await scene.apply(), ["users/1", "users/2"]);
    assert.deepEqual((await scene.update()).found, found);
    rmSync(scene.here.database);
    assert.deepEqual((await scene.update()).found, { merged: [], unmerged: [".", "users/2"] });
  });

  it("[V9] a migration is merged with rows that changed in other tables, and with their definitions", async () => {
    await using scene = await UpdateScene.open(
      "ALTER TABLE tags ADD COLUMN more DEFAULT 7; CREATE INDEX ages ON users(age)",
      "UPDATE users SET age = 1 WHERE id = 2; CREATE TABLE made(a); INSERT INTO made VALUES (1)",
    );
    assert.deepEqual(await scene.apply(), ["made"]);
    assert.deepEqual((await scene.update()).found, { merged: ["made"], unmerged: [] });
    assert.deepEqual(await scene.apply(), []);
    assert.deepEqual(scene.here.rows("SELECT more FROM tags"), [[7], [7]]);
    assert.deepEqual(scene.here.rows("SELECT age FROM users WHERE id = 2"), [[1]]);
    assert.deepEqual(scene.here.rows("SELECT a FROM made"), [[1]]);
    assert.deepEqual(scene.here.rows("PRAGMA integrity_check"), [["ok"]]);
  });

  const TABLES_IN_CONFLICT = [
    ["both alter a table", "ALTER TABLE tags ADD COLUMN a", "ALTER TABLE tags ADD COLUMN b", "tags"],
    ["the plan alters, others write", "ALTER TABLE tags ADD COLUMN a", "UPDATE tags SET n = 7", "tags"],
    ["others alter, the plan writes", "UPDATE tags SET n = 7", "ALTER TABLE tags ADD COLUMN a", "tags"],
    ["others drop it", "UPDATE tags SET n = 7", "DROP TABLE tags", "tags"],
    ["the plan drops it", "DROP TABLE tags", "UPDATE tags SET n = 7", "tags"],
    ["it has no key", "UPDATE log SET line = 'ours'", "UPDATE log SET line = 'theirs'", "log"],
    [
      "a unique value twice",
      "INSERT INTO users VALUES (4, 'dd', 1, 2)",
      "INSERT INTO users VALUES (5, 'dd', 3, 4)",
      "users",
    ],
    [
      "a view",
      "DROP VIEW old; CREATE VIEW old AS SELECT 1",
      "DROP VIEW old; CREATE VIEW old AS SELECT 2",
      "old",
    ],
    ["a number", "PRAGMA user_version = 2", "PRAGMA user_version = 3", "user_version"],
    ["a virtual table", "INSERT INTO words VALUES ('ours')", "INSERT INTO words VALUES ('theirs')", "words"],
  ] as const;
  for (const [at, [title, ours, theirs, name]] of TABLES_IN_CONFLICT.entries())
    it(`[V9] ${title}: it is named as a whole, and 'resolve' settles it`, async () => {
      for (const how of waysOf(at)) {
        await using scene = await UpdateScene.open(
          `${ours}; INSERT INTO orders VALUES (8, 1)`,
          `${theirs}; INSERT INTO orders VALUES (9, 1)`,
          { more: "CREATE VIRTUAL TABLE words USING fts5(word); INSERT INTO words VALUES ('before')" },
        );
        const { here } = scene;
        const wanted = state(here, how === "ours" ? await scene.plans.path(PLAN) : here.database, name);
        const before = [state(here, here.database, name), here.rows("SELECT * FROM orders")];
        assert.deepEqual((await scene.update()).found.unmerged, [name]);
        assert.notDeepEqual(await scene.apply(), []);
        await scene.resolve(name, how);
        assert.deepEqual(await scene.apply(), []);
        assert.deepEqual(state(here, here.database, name), wanted, how);
        assert.deepEqual(here.rows("SELECT id FROM orders"), [[1], [8], [9]]);
        assert.deepEqual(here.rows("PRAGMA integrity_check"), [["ok"]]);
        await scene.plans.undo(PLAN);
        assert.deepEqual([state(here, here.database, name), here.rows("SELECT * FROM orders")], before);
      }
    });

  it("[V9] what others changed elsewhere is not in the way, and nothing has to be updated", async () => {
    await using scene = await UpdateScene.open(
      "UPDATE users SET age = 31 WHERE id = 1",
      "UPDATE users SET age = 41 WHERE id = 2",
    );
    const { found, checkpoint } = await scene.update();
    assert.deepEqual([found, checkpoint], [{ merged: [], unmerged: [] }, ""]);
    assert.deepEqual(await scene.apply(), []);
    assert.deepEqual(scene.here.rows("SELECT age FROM users"), [[31], [41], [50]]);
  });

  it("[V9] 'apply --update' lands what can be merged, and refuses what can't", async () => {
    await using scene = await UpdateScene.open(
      "UPDATE users SET age = 31 WHERE id = 1",
      "UPDATE users SET note = 7 WHERE id = 1",
    );
    await scene.plans.apply(PLAN, { update: true });
    assert.deepEqual(scene.here.rows("SELECT age, note FROM users WHERE id = 1"), [[31, 7]]);
    await scene.plan("UPDATE users SET age = 32 WHERE id = 1");
    scene.here.sql("UPDATE users SET age = 33 WHERE id = 1");
    await assert.rejects(scene.plans.apply(PLAN, { update: true }), AtomicCommitError);
    assert.deepEqual(scene.here.rows("SELECT age, note FROM users WHERE id = 1"), [[33, 7]]);
  });

  it("[V9] takes single rows and tables out of a plan, and refuses what would leave a broken reference", async () => {
    await using scene = await UpdateScene.open(
      "UPDATE users SET age = 31; INSERT INTO users VALUES (4, 'dd', 1, 2); INSERT INTO orders VALUES (2, 4); CREATE TABLE made(a)",
      "",
    );
    const takeOut = (...only: string[]) => scene.plans.rollback(PLAN, { only });
    await assert.rejects(takeOut("users/4"), /orders would refer to a missing row of users/);
    await takeOut("users/1", "made");
    await takeOut("users/4", "orders/2");
    const { changes } = await scene.plans.diff(PLAN);
    assert.deepEqual(
      changes.map(({ path }) => path),
      ["users/2", "users/3"],
    );
  });
});

/** What a conflict is about, as it is in one database. */
function state(here: DatabaseScene, path: string, name: string): unknown {
  if (name === "user_version") return here.rows("PRAGMA user_version", path);
  const sql = here.rows(`SELECT sql FROM sqlite_schema WHERE name = '${name}'`, path);
  if (sql.length === 0) return undefined;
  const found = name === "words" ? here.rows("SELECT * FROM words('before OR ours OR theirs')", path) : [];
  return [sql, here.rows(`SELECT * FROM ${name} ORDER BY 1`, path), found];
}
