import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { MysqlConnection } from "../../src/database/mysql/mysql-connection.ts";
import { OWNER, type TestServer, whyNoServer } from "../support/database-servers.ts";
import { IS_LONG } from "../support/long-form.ts";
import { CrashScene } from "./clone-crash-scene.ts";
import { kill } from "./clone-scene.ts";
import { startServer } from "./held-scene.ts";
import { MariadbCloneScene } from "./mariadb-clone-scene.ts";

const TABLE = "CREATE TABLE t (id INT PRIMARY KEY, v TEXT); INSERT INTO t VALUES (1, 'old'), (2, 'old')";
const OUTCOMES = {
  work: "UPDATE t SET v = 'new' WHERE id = 1; DELETE FROM t WHERE id = 2",
  query: "SELECT id, v FROM t ORDER BY id",
  old: "1|old\n2|old",
  new: "1|new",
};

/** The steps of each operation that clones of PostgreSQL do not have; the long form looks for all. */
const CREATE = ["settings", "first-statements", "fill-mariadb", "base-data", "copy-data", "name-data"].map(
  (name) => `clone.${name}`,
);
const APPLY = [
  "make-marker",
  "write-mariadb",
  "prepare-mariadb",
  "commit-prepared",
  "note-landed",
  "forget-marker",
].map((name) => `clone.${name}`);
/** Where an undo dies in the normal form: before it is decided, and after. */
const UNDO = ["clone.prepare-mariadb", "clone.forget-marker"];

function endServers(scene: MariadbCloneScene): void {
  for (const pid of scene.serverProcesses()) kill(pid);
}

describe("crashes of a plan over a clone of MariaDB and a folder", {
  skip: whyNoServer("mariadb") ?? false,
}, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("mariadb");
  });
  after(() => server?.remove());

  /** Nothing of a landing is left on the original's server. */
  async function assertNoMark(when: string): Promise<void> {
    assert.doesNotMatch(await server.sql("SHOW DATABASES", "mysql"), /drydock/, when);
  }

  it("[B4][C2] our process killed at every step of create leaves no server and nothing unknown", async () => {
    await using scene = await MariadbCloneScene.make(server, TABLE);
    const crash = new CrashScene(scene, OUTCOMES);
    const points = IS_LONG ? await crash.points("create") : CREATE;
    if (IS_LONG) await scene.with(({ plans }) => plans.cancel(scene.plan));
    for (const point of points) {
      await crash.killedAt("create", point);
      assert.equal(await crash.side(`create killed at ${point}`), "old");
      if (await crash.isOpen()) await scene.with(({ plans }) => plans.cancel(scene.plan));
      crash.assertNothingLeft(`create killed at ${point}`);
    }
  });

  it("[B6][B7] our process killed at every step of apply and undo: all or nothing, and the work is still there", async () => {
    await using scene = await MariadbCloneScene.make(server, TABLE);
    const crash = new CrashScene(scene, OUTCOMES);
    await crash.work();
    const apply = IS_LONG ? await crash.points("apply") : APPLY;
    const undo = IS_LONG ? await crash.points("undo") : UNDO;
    let isOpen = !IS_LONG;
    for (const point of apply) {
      if (!isOpen) await crash.work();
      // Then an apply starts the servers, which is among its steps.
      if (IS_LONG) endServers(scene);
      await crash.killedAt("apply", point);
      if (point === "clone.prepare-mariadb") await crash.killedAt("recover", "clone.forget-marker");
      isOpen = (await crash.side(`apply killed at ${point}`)) === "old";
      await assertNoMark(`apply killed at ${point}`);
      assert.equal(await crash.state(), isOpen ? "open" : "applied", `killed at ${point}`);
      if (isOpen)
        assert.ok((await scene.paths()).includes("modified t/1"), `killed at ${point}: the work is there`);
      else await scene.undo();
    }
    if (!isOpen) await crash.work();
    await scene.apply();
    for (const point of undo) {
      await crash.killedAt("undo", point);
      const side = await crash.side(`undo killed at ${point}`);
      await assertNoMark(`undo killed at ${point}`);
      if (side === "new") continue;
      crash.assertNothingLeft(`undo killed at ${point}`);
      if (point === undo.at(-1)) break;
      await crash.work();
      await scene.apply();
    }
  });

  it("[B4] our process killed while it saves and restores: the clone is whole", async () => {
    await using scene = await MariadbCloneScene.make(server, TABLE);
    const crash = new CrashScene(scene, OUTCOMES);
    await crash.work();
    await scene.with(({ checkpoints }) => checkpoints.checkpoint(scene.plan, { label: "saved" }));
    await crash.killedAt("save-plan", "clone.save-data", "other");
    assert.equal(await crash.side("save killed"), "old");
    await scene.run("CREATE TABLE made (a INT); UPDATE t SET v = 'later'");
    for (const point of ["clone.remove-data", "clone.name-data"]) {
      await crash.killedAt("restore-plan", point);
      assert.equal(await crash.side(`restore killed at ${point}`), "old");
    }
    await scene.with(({ checkpoints }) => checkpoints.restore(scene.plan, "saved"));
    assert.equal(await scene.shown("SELECT v FROM t"), "new");
    assert.deepEqual((await scene.paths()).toSorted(), ["added new", "deleted t/2", "modified t/1"]);
    await scene.with(({ plans }) => plans.rollback(scene.plan));
    assert.deepEqual(await scene.paths(), []);
    await scene.with(({ plans }) => plans.cancel(scene.plan));
    crash.assertNothingLeft("cancelled");
  });

  it("[B6] a server that is killed while it sends rows is an error, and so is the next question", async () => {
    const location = server.url().replace(/:[^:@/]*@/, "@");
    const login = { location, secret: OWNER.password, patienceMs: 5000 };
    const connection = await MysqlConnection.open(login);
    try {
      const rows = connection.texts("SELECT seq, SLEEP(0.01) FROM seq_1_to_100000");
      await Promise.all([assert.rejects(rows, /can't be reached/), server.crash()]);
      await assert.rejects(connection.texts("SELECT 1"), /can't be reached/);
    } finally {
      await connection.close();
      await server.start();
    }
  });

  it("[B6] the clone's servers and the original's killed at the steps of apply: all or nothing", async () => {
    await using scene = await MariadbCloneScene.make(server, TABLE);
    const crash = new CrashScene(scene, OUTCOMES);
    await crash.work();
    const crashClone = () => endServers(scene);
    const crashOriginal = async () => {
      await server.crash();
      await server.start();
    };
    for (const [point, whenStopped] of [
      ["clone.keep-out", crashClone],
      ["clone.write-mariadb", crashOriginal],
      ["clone.prepare-mariadb", crashOriginal],
      ["clone.commit-prepared", crashOriginal],
    ] as const) {
      await crash.drive("apply", { failpoints: `${point}:1=stop`, whenStopped });
      if ((await crash.side(`a server killed at ${point}`)) === "old") {
        assert.equal(await scene.shown("SELECT v FROM t"), "new", `killed at ${point}: the work is there`);
        continue;
      }
      await assertNoMark(`a server killed at ${point}`);
      await scene.undo();
      await crash.work();
    }
    await scene.apply();
    assert.equal(await crash.side("in the end"), "new");
  });
});
