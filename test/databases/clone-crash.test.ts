import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { type DriverOptions, type DriverRequest, runDriver } from "../crash/run-driver.ts";
import { type TestServer, whyNoServer } from "../support/database-servers.ts";
import { IS_LONG } from "../support/long-form.ts";
import { CloneScene, kill } from "./clone-scene.ts";
import { leftIn, startServer, until } from "./held-scene.ts";

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

/** A plan over a clone and a folder, whose operations die in processes of their own. */
class CrashScene {
  readonly scene: CloneScene;
  readonly files: string;
  #plans = 0;

  constructor(scene: CloneScene) {
    this.scene = scene;
    this.files = join(scene.folder, "files");
    mkdirSync(this.files);
  }

  async drive(operation: DriverRequest["operation"], options: DriverOptions = {}, label = "saved") {
    const resources = [
      { location: this.files, name: "files", strategy: "filesystem_copy" },
      { location: this.scene.url, name: "db", strategy: "snapshot" },
    ];
    const { stateDir } = this.scene;
    return await runDriver({ operation, stateDir, plan: this.scene.plan, resources, label }, options);
  }

  /** Makes the plan with work in it. */
  async work(): Promise<void> {
    this.#plans += 1;
    this.scene.plan = `p${this.#plans}`;
    const { failed } = await this.drive("create");
    assert.equal(failed, undefined, failed?.stack);
    await this.scene.run(WORK);
    const path = await this.scene.with(({ plans }) => plans.path(this.scene.plan, "files"));
    writeFileSync(join(String(path), "new"), "x");
  }

  async killedAt(operation: DriverRequest["operation"], point: string, label?: string): Promise<void> {
    const end = await this.drive(operation, { failpoints: `${point}=kill` }, label);
    assert.equal(end.signal, "SIGKILL", `${operation} was not killed at ${point}: ${end.failed?.stack}`);
  }

  /** The names of our own failpoints that an operation passes. */
  async points(operation: DriverRequest["operation"]): Promise<string[]> {
    const file = join(this.scene.folder, "trace");
    rmSync(file, { force: true });
    const end = await this.drive(operation, { trace: file });
    assert.ok(end.done !== undefined, end.failed?.stack);
    const names = readFileSync(file, "utf8")
      .split("\n")
      .map((line) => line.slice("failpoint ".length));
    return [...new Set(names.filter((name) => name.startsWith("clone.")))];
  }

  /** Recovers twice; everything must be on the same side. */
  async side(when: string): Promise<"old" | "new"> {
    for (let time = 1; time <= 2; time += 1) {
      const { pending } = await this.scene.with(async ({ recovery }) => recovery);
      assert.deepEqual(pending, [], when);
    }
    assert.deepEqual(await this.scene.server.prepared(), [], `${when}: nothing is left prepared`);
    const rows = await this.scene.original(
      "SELECT id, v, to_regclass('made') IS NOT NULL FROM t ORDER BY id",
    );
    const sides = [
      rows === "1|old|false\n2|old|false" ? "old" : rows === "1|new|true" ? "new" : `neither: ${rows}`,
      existsSync(join(this.files, "new")) ? "new" : "old",
    ];
    const [first] = sides;
    assert.ok(first === "old" || first === "new", `${when}: ${first}`);
    assert.equal(sides[1], first, `${when}: all or nothing`);
    return first;
  }

  async state(): Promise<string | undefined> {
    return await this.scene.with(async ({ plans }) => (await plans.show(this.scene.plan)).state);
  }

  async isOpen(): Promise<boolean> {
    return await this.scene.with(async ({ plans }) => (await plans.list()).length > 0);
  }

  /** The plan is over, and nothing of it is left. */
  assertNothingLeft(when: string): void {
    assert.deepEqual(this.scene.serverProcesses(), [], `${when}: no server is left`);
    assert.deepEqual(leftIn(this.scene.stateDir), [], when);
    assert.deepEqual(readdirSync(join(this.scene.stateDir, "sandboxes")), [], when);
    assert.ok(!existsSync(join(this.scene.stateDir, "db")), when);
  }
}

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
    const crash = new CrashScene(scene);
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
    const crash = new CrashScene(scene);
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
    const crash = new CrashScene(scene);
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
    const crash = new CrashScene(scene);
    await crash.work();
    const crashClone = () => {
      for (const pid of scene.serverProcesses()) kill(pid);
    };
    const crashOriginal = async () => {
      await server.crash();
      await server.start();
    };
    for (const [point, whenStopped] of [
      ["clone.keep-out", crashClone],
      ["clone.record", crashClone],
      ["clone.write-original", crashOriginal],
      ["clone.prepare", crashOriginal],
      ["clone.commit-prepared", crashOriginal],
    ] as const) {
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
