import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { DatabaseScene, PLAN } from "./database-scene.ts";

function scene(journal: string): DatabaseScene {
  const made = new DatabaseScene();
  made.sql(`PRAGMA journal_mode = ${journal};
    CREATE TABLE stock(id INTEGER PRIMARY KEY, n); INSERT INTO stock VALUES (1, 5), (2, 5), (3, 5);`);
  return made;
}

const TAKE_ONE = "UPDATE stock SET n = n - 1 WHERE id < 3";

for (const journal of ["wal", "delete"])
  describe(`a rival at the moment of landing, with journal_mode ${journal}`, () => {
    it("[A19] from prepare to the end nobody else can write, but everybody can read", async () => {
      using here = scene(journal);
      await here.plan(TAKE_ONE);
      const said: string[] = [];
      const end = await here.drive("apply", {
        failpoints: "sqlite.commit:1=stop",
        whenStopped: () => {
          said.push(here.rival("UPDATE stock SET n = 100 WHERE id = 1").said);
          said.push(here.rival("SELECT n FROM stock WHERE id = 1").said);
        },
      });
      assert.notEqual(end.done, undefined, end.failed?.stack);
      assert.match(said[0] ?? "", /database is locked/);
      assert.equal(said[1], "5");
      assert.deepEqual(here.rows("SELECT n FROM stock"), [[4], [4], [5]]);
    });

    it("[A19] killed before it landed: a rival's other row stays, and recovery lands the rest once", async () => {
      using here = scene(journal);
      await here.plan(TAKE_ONE, { withFolder: true });
      assert.equal((await here.drive("apply", { failpoints: "sqlite.commit:1=kill" })).signal, "SIGKILL");
      here.sql("UPDATE stock SET n = 77 WHERE id = 3; INSERT INTO stock VALUES (4, 4)");
      const { pending } = await here.with(async ({ recovery }) => recovery);
      assert.deepEqual(pending, []);
      assert.deepEqual(here.rows("SELECT n FROM stock"), [[4], [4], [77], [4]]);
      assert.ok(existsSync(join(here.folder, "new")));
    });

    it("[A19] killed before it landed: a rival's change of the same row is not overwritten, and a person settles it", async () => {
      using here = scene(journal);
      await here.plan(TAKE_ONE, { withFolder: true });
      assert.equal((await here.drive("apply", { failpoints: "sqlite.commit:1=kill" })).signal, "SIGKILL");
      here.sql("UPDATE stock SET n = 77 WHERE id = 2");
      for (const _ of ["first", "again"]) {
        const { pending } = await here.with(async ({ recovery }) => recovery);
        assert.match(pending[0]?.why ?? "", /stock\/2 \(this row was changed or deleted meanwhile\)/);
        assert.deepEqual(here.rows("SELECT n FROM stock"), [[5], [77], [5]]);
      }
      assert.equal(here.records().length, 1, "the changes are kept");
      const { pending, undone } = await here.with((drydock) => drydock.settle(PLAN, "abort"));
      assert.deepEqual([pending, undone.length], [[], 1]);
      assert.deepEqual(here.rows("SELECT n FROM stock"), [[5], [77], [5]]);
      assert.ok(!existsSync(join(here.folder, "new")), "the folder has landed though the database has not");
    });

    it("[A19] it lands when the rival's change is taken back by hand", async () => {
      using here = scene(journal);
      await here.plan(TAKE_ONE, { withFolder: true });
      await here.drive("apply", { failpoints: "sqlite.commit:1=kill" });
      here.sql("UPDATE stock SET n = 77 WHERE id = 2");
      await here.with(async ({ recovery }) => assert.equal(recovery.pending.length, 1));
      here.sql("UPDATE stock SET n = 5 WHERE id = 2");
      await here.with(async ({ recovery }) => assert.deepEqual(recovery.pending, []));
      assert.deepEqual(here.rows("SELECT n FROM stock"), [[4], [4], [5]]);
      assert.ok(existsSync(join(here.folder, "new")));
    });

    for (const point of ["sqlite.note-landed", "sqlite.flush-landed", "sqlite.remove-marker"])
      it(`[A19][A3] killed at ${point}: what a rival made of the rows since is left alone, whatever it looks like`, async () => {
        using here = scene(journal);
        await here.plan(TAKE_ONE, { withFolder: true });
        assert.equal((await here.drive("apply", { failpoints: `${point}:1=kill` })).signal, "SIGKILL");
        assert.deepEqual(here.rows("SELECT n FROM stock"), [[4], [4], [5]]);
        // Row 1 is again what it was before the plan, and yet it must not be taken down once more.
        here.sql("UPDATE stock SET n = n + 1 WHERE id = 1; UPDATE stock SET n = 77 WHERE id = 2");
        const { pending } = await here.with(async ({ recovery }) => recovery);
        assert.deepEqual(pending, []);
        assert.deepEqual(here.rows("SELECT n FROM stock"), [[5], [77], [5]]);
        assert.deepEqual(
          here.rows("SELECT name FROM sqlite_schema"),
          [["stock"]],
          "something of ours is in the database",
        );
        assert.ok(existsSync(join(here.folder, "new")));
      });

    it("[A19] a landing that is given up leaves a rival's row, and says so", async () => {
      using here = scene(journal);
      await here.plan(TAKE_ONE, { withFolder: true });
      // The database lands; the folder can't.
      const failpoints = "land.add=error";
      await here.drive("apply", { failpoints });
      assert.deepEqual(here.rows("SELECT n FROM stock"), [[4], [4], [5]]);
      here.sql("UPDATE stock SET n = 77 WHERE id = 2");
      const end = await here.drive("give-up", { failpoints });
      const { undone } = end.done as unknown as {
        undone: { attention: { path: string; message: string }[] }[];
      };
      assert.deepEqual(
        undone[0]?.attention.map(({ path }) => path),
        ["stock/2"],
      );
      assert.deepEqual(here.rows("SELECT n FROM stock"), [[5], [77], [5]]);
    });

    it("[A14] a writer that is in a transaction is waited for", async () => {
      using here = scene(journal);
      await here.plan(TAKE_ONE);
      const { done } = await here.holdingLock("UPDATE stock SET n = 9 WHERE id = 3", 400);
      await here.with(({ plans }) => plans.apply(PLAN));
      await done;
      assert.deepEqual(here.rows("SELECT n FROM stock"), [[4], [4], [9]]);
    });
  });
