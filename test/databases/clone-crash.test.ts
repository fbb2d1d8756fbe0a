import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type TestServer, whyNoServer } from "../support/database-servers.ts";
import { IS_LONG } from "../support/long-form.ts";
import { CrashScene } from "./clone-crash-scene.ts";
import { CloneScene, kill } from "./clone-scene.ts";
import { startServer, until } from "./held-scene.ts";

const TABLE = "CREATE TABLE t (id int PRIMARY KEY, v text); INSERT INTO t VALUES (1, 'old'), (2, 'old')";
const WORK =
  "UPDATE t SET v = 'new' WHERE id = 1; DELETE FROM t WHERE id = 2; CREATE TABLE made (a int PRIMARY KEY)";

/** The steps of each operation; the long form looks for them. */
const CREATE = ["make-folder", "admin", "init", "configure", "log", "start", "fill", "base", "made"].map(
  (name) => `clone.${name}`,
);
const ENDING = ["clone.stop", "clone.remove-server", "clone.remove-sockets"];
const APPLY = [
  ...["keep-out", "landing", "record", "attempt", "write-original", "prepare"],
  ...["mark-stale", "commit-prepared", "note-landed", "cleanup"],
].map((name) => `clone.${name}`);
/** Where an undo dies in the normal form: before it is decided, and after. */
const UNDO = ["clone.prepare", "clone.note-landed"];

const OUTCOMES = {
  work: WORK,
  query: "SELECT id, v, to_regclass('made') IS NOT NULL FROM t ORDER BY id",
  old: "1|old|false\n2|old|false",
  new: "1|new|true",
};

describe("crashes of a plan over a clone of PostgreSQL and a folder", {
  skip: whyNoServer("postgres") ?? false,
}, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("postgres");
  });
  after(() => server?.remove());

  it("[B4][C2] our process killed at every step of create and cancel leaves no server and nothing unknown", async () => {
    await using scene = await CloneScene.make(server, TABLE);
    const crash = new CrashScene(scene, OUTCOMES);
    const create = IS_LONG ? await crash.points("create") : CREATE;
    if (IS_LONG) await scene.with(({ plans }) => plans.cancel(scene.plan));
    for (const point of create) {
      await crash.killedAt("create", point);
      // What a dead creation has left goes like what a plan had; its removal dies at each of its steps too.
      if (point === "clone.made") for (const ending of ENDING) await crash.killedAt("recover", ending);
      assert.equal(await crash.side(`create killed at ${point}`), "old");
      if (await crash.isOpen()) await scene.with(({ plans }) => plans.cancel(scene.plan));
      crash.assertNothingLeft(`create killed at ${point}`);
    }
    for (const point of IS_LONG ? ENDING : ENDING.slice(0, 1)) {
      const { failed } = await crash.drive("create");
      assert.equal(failed, undefined, failed?.stack);
      await crash.killedAt("cancel", point);
      assert.equal(await crash.side(`cancel killed at ${point}`), "old");
      crash.assertNothingLeft(`cancel killed at ${point}`);
    }
  });

  it("[B6][B7] our process killed at every step of apply and undo: all or nothing, and the work is still there", async () => {
    await using scene = await CloneScene.make(server, TABLE);
    const crash = new CrashScene(scene, OUTCOMES);
    await crash.work();
    const apply = IS_LONG ? await crash.points("apply") : APPLY;
    const undo = IS_LONG ? await crash.points("undo") : UNDO;
    let isOpen = !IS_LONG;
    for (const point of apply) {
      if (!isOpen) await crash.work();
      await crash.killedAt("apply", point);
      if (point === "clone.prepare")
        for (const again of ["clone.roll-back-prepared", "clone.remove-landing"])
          await crash.killedAt("recover", again);
      isOpen = (await crash.side(`apply killed at ${point}`)) === "old";
      assert.equal(await crash.state(), isOpen ? "open" : "applied", `killed at ${point}`);
      if (isOpen)
        assert.ok((await scene.paths()).includes("modified t/1"), `killed at ${point}: the work is there`);
      else await scene.undo();
    }
    if (!isOpen) await crash.work();
    await scene.apply();
    for (const point of undo) {
      await crash.killedAt("undo", point);
      if ((await crash.side(`undo killed at ${point}`)) === "new") continue;
      crash.assertNothingLeft(`undo killed at ${point}`);
      if (point === undo.at(-1)) break;
      await crash.work();
      await scene.apply();
    }
  });

  it("[B4] our process killed at every step of a rollback, a checkpoint and a restore: the clone is whole", async () => {
    await using scene = await CloneScene.make(server, TABLE);
    const crash = new CrashScene(scene, OUTCOMES);
    await crash.work();
    await scene.with(({ checkpoints }) => checkpoints.checkpoint(scene.plan, { label: "saved" }));
    await crash.killedAt("save-plan", "clone.checkpoint", "other");
    assert.equal(await crash.side("save killed"), "old");
    assert.equal(await scene.shown("SELECT v FROM t"), "new");
    await scene.run("DROP TABLE made; UPDATE t SET v = 'later'");
    await crash.killedAt("restore-plan", "clone.restore");
    assert.equal(await crash.side("restore killed"), "old");
    await scene.with(({ checkpoints }) => checkpoints.restore(scene.plan, "saved"));
    assert.equal(await scene.shown("SELECT v, to_regclass('made') IS NOT NULL FROM t"), "new|true");
    for (const pid of scene.serverProcesses()) kill(pid);
    await until(() => scene.serverProcesses().length === 0, "the server is gone");
    await crash.killedAt("save-plan", "clone.unlock", "unlocked");
    assert.equal(await scene.shown("SELECT v FROM t"), "new");
    for (const point of ["clone.discard-checkpoint", "clone.mark-fresh"]) {
      await crash.killedAt("rollback", point);
      assert.equal(await crash.side(`rollback killed at ${point}`), "old");
    }
    await scene.with(({ plans }) => plans.rollback(scene.plan));
    assert.deepEqual(await scene.paths(), []);
    await scene.with(({ plans }) => plans.cancel(scene.plan));
    crash.assertNothingLeft("cancelled");
  });

  it("[B6] the clone's server and the original's killed at the steps of apply: all or nothing", async () => {
    await using scene = await CloneScene.make(server, TABLE);
    const crash = new CrashScene(scene, OUTCOMES);
    await crash.work();
    const crashClone = () => {
      for (const pid of scene.serverProcesses()) kill(pid);
    };
    const crashOriginal = async () => {
      await server.crash();
      await server.start();
    };
    const kills = [
      ["clone.record", crashClone],
      ["clone.prepare", crashOriginal],
      ["clone.commit-prepared", crashOriginal],
    ] as const;
    const further = [
      ["clone.keep-out", crashClone],
      ["clone.write-original", crashOriginal],
    ] as const;
    for (const [point, whenStopped] of IS_LONG ? [...further, ...kills] : kills) {
      await crash.drive("apply", { failpoints: `${point}:1=stop`, whenStopped });
      if ((await crash.side(`a server killed at ${point}`)) === "old") {
        assert.equal(await scene.shown("SELECT v FROM t"), "new", `killed at ${point}: the work is there`);
        continue;
      }
      await scene.undo();
      await crash.work();
    }
    await scene.apply();
    assert.equal(await crash.side("in the end"), "new");
  });
});
