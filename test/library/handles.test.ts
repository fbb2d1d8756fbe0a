import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import {
  AtomicCommitError,
  type Drydock,
  type DrydockOptions,
  type Notice,
  openDrydock,
  type Plan,
  UsageError,
} from "../../src/index.ts";
import { dieDuring } from "../regressions/during-call.ts";
import { removeFolder } from "../support/remove-folder.ts";

const COPY = "filesystem_copy";

/** A folder with two originals and a state directory. */
class Scene implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "drydock-handles-")));

  constructor() {
    for (const name of ["app", "settings"]) {
      mkdirSync(join(this.path, name));
      writeFileSync(join(this.path, name, "file"), "old\n");
    }
  }

  get options(): DrydockOptions {
    return { stateDir: this.at("state"), cwd: this.path, environment: { PATH: process.env["PATH"] } };
  }

  async open(more: DrydockOptions = {}): Promise<Drydock> {
    return await openDrydock({ ...this.options, ...more });
  }

  at(...names: readonly string[]): string {
    return join(this.path, ...names);
  }

  text(...names: readonly string[]): string {
    return readFileSync(this.at(...names), "utf8");
  }

  [Symbol.dispose](): void {
    removeFolder(this.path);
  }
}

async function textIn(plan: Pick<Plan, "read">, path: string): Promise<string> {
  return new TextDecoder().decode(await plan.read(path));
}

describe("An open Drydock", () => {
  it("closes at the end of its block, and what is done with its plans afterwards fails", async () => {
    using scene = new Scene();
    let kept: Plan;
    {
      await using drydock = await scene.open();
      kept = await drydock.plans.create({ resources: [{ location: "app", strategy: COPY }] });
    }
    await assert.rejects(kept.show());
    await using again = await scene.open();
    assert.equal((await (await again.plans.open(kept.id)).show()).state, "open");
  });

  it("can be closed twice, by hand and at the end of its block", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    await drydock.close();
  });

  it("lists strategies, refuses to register what is none, and makes a name unknown", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const { strategies, unusable } = await drydock.strategies.list();
    assert.deepEqual(unusable, []);
    const copy = strategies.find(({ name }) => name === COPY);
    assert.deepEqual(Object.keys(copy ?? {}), ["name", "builtIn", "capabilities"]);
    assert.throws(() => drydock.strategies.register(() => ({}) as never), { code: "BAD_STRATEGY" });
    drydock.strategies.remove(COPY);
    assert.equal(drydock.strategies.has(COPY), false);
    await assert.rejects(drydock.plans.create({ resources: [{ location: "app", strategy: COPY }] }), {
      code: "UNKNOWN_STRATEGY",
    });
  });

  it("knows the types of resources", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    assert.ok(drydock.resourceTypes.has("fs-directory"));
    assert.ok(drydock.resourceTypes.mayContain("fs-directory", "sqlite-database"));
    assert.ok(
      drydock.resourceTypes.list().some(({ name }) => name === drydock.resourceTypes.get("fs-file").name),
    );
  });

  it("takes no failpoint from the environment, neither from that of the process nor from one that it is given", async () => {
    using scene = new Scene();
    const failpoint = "store.open=error,copy.create-file=error";
    process.env["DRYDOCK_FAILPOINT"] = failpoint;
    try {
      for (const options of [
        { environment: { ...process.env } },
        { stateDir: scene.at("other"), cwd: scene.path },
      ]) {
        await using drydock = await openDrydock({ ...scene.options, ...options });
        const plan = await drydock.plans.create({ resources: [{ location: "app", strategy: COPY }] });
        await plan.cancel();
      }
    } finally {
      delete process.env["DRYDOCK_FAILPOINT"];
    }
  });

  it("tells that a config is ignored, by a notice", async () => {
    using scene = new Scene();
    const notices: Notice[] = [];
    const onNotice = (notice: Notice) => notices.push(notice);
    writeFileSync(scene.at("drydock.yaml"), "sandbox: {}\n");
    await (await scene.open({ onNotice })).close();
    const [ignored] = notices;
    assert.ok(ignored?.kind === "ignored-config");
    assert.equal(ignored.file, scene.at("drydock.yaml"));
    assert.match(ignored.message, /^ignoring .*drydock\.yaml: /);
    assert.equal(notices.length, 1);
  });

  it("finishes what a process that was killed had decided, and tells it by a notice", async () => {
    using scene = new Scene();
    let planId: string;
    {
      await using drydock = await scene.open();
      const plan = await drydock.plans.create({ resources: [{ location: "app", strategy: COPY }] });
      await plan.write("file", "new\n");
      planId = plan.id;
    }
    dieDuring(scene.at("state"), `await drydock.plans.apply("${planId}");`, "land.exchange=kill");
    const notices: Notice[] = [];
    await using drydock = await scene.open({ onNotice: (notice) => notices.push(notice) });
    assert.deepEqual(
      notices.map((notice) => [notice.kind, "planId" in notice && notice.planId]),
      [["recovered", planId]],
    );
    assert.match(notices[0]?.message ?? "", /^the apply of plan .* is finished$/);
    assert.equal(drydock.recovery.finished[0]?.planId, planId);
    assert.equal(scene.text("app", "file"), "new\n");
  });
});

describe("A plan of one resource", () => {
  it("is worked on without naming the resource", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const plan = await drydock.plans.create({
      name: "fix",
      resources: [{ location: "app", strategy: COPY }],
    });
    assert.equal(plan.name, "fix");
    const { path, operation, kind, after } = await plan.write("file", "grün\n");
    assert.deepEqual([path, operation, kind, after?.size], ["file", "modified", "file", 6]);
    await plan.write("bytes", Uint8Array.of(0xff, 0x00));
    assert.deepEqual([...(await plan.read("bytes"))], [0xff, 0x00]);
    assert.equal(await textIn(plan, "file"), "grün\n");
    assert.equal(readFileSync(join(await plan.path(), "file"), "utf8"), "grün\n");
    assert.equal((await plan.sandbox()).state, "ACTIVE");
    assert.deepEqual(await textIn(plan.resource("app"), "file"), "grün\n");
    await assert.rejects(plan.resource("other").read("file"), { code: "UNKNOWN_RESOURCE" });
    await assert.rejects(plan.sql("SELECT 1"), { code: "NO_QUERY" });
    const patch = (await Array.fromAsync(plan.patch({ paths: ["file"] }))).join("");
    assert.match(patch, /^\+grün$/m);
    assert.equal(scene.text("app", "file"), "old\n");
  });

  it("lands, is found again by its name, and is taken back", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const plan = await drydock.plans.create({
      name: "fix",
      resources: [{ location: "app", strategy: COPY }],
    });
    await plan.write("file", "new\n");
    const { digest } = await plan.diff();
    assert.equal((await plan.apply({ digest, message: "better" })).state, "applied");
    assert.equal(scene.text("app", "file"), "new\n");
    const found = await drydock.plans.open("fix");
    assert.equal(found.id, plan.id);
    assert.equal((await found.undo()).state, "undone");
    assert.equal(scene.text("app", "file"), "old\n");
    assert.deepEqual(await drydock.plans.list(), []);
    assert.deepEqual(
      (await drydock.plans.list({ all: true })).map(({ id }) => id),
      [plan.id],
    );
    const events = (await plan.log()).entries.map(({ event }) => event);
    assert.deepEqual(events, ["created", "changed", "sealed", "applied", "undone"]);
  });

  it("is saved, restored, rolled back, swept and cancelled", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const plan = await drydock.plans.create({ resources: [{ location: "app", strategy: COPY }] });
    await plan.write("file", "one\n");
    const { id } = await plan.checkpoint({ label: "first" });
    await plan.write("file", "two\n");
    assert.deepEqual(
      (await plan.checkpoints()).map(({ label }) => label),
      ["first"],
    );
    assert.equal((await plan.restore("first")).checkpoint.id, id);
    assert.equal(await textIn(plan, "file"), "one\n");
    assert.deepEqual(await plan.sandboxes.rollback(), { done: ["app"], failed: [] });
    assert.equal(await textIn(plan, "file"), "old\n");
    await plan.write("file", "three\n");
    assert.equal((await plan.rollback()).state, "open");
    // A sandbox that is whole was not abandoned.
    assert.deepEqual((await plan.sandboxes.removeAbandoned()).failed, []);
    assert.equal(await textIn(plan, "file"), "old\n");
    assert.deepEqual(await plan.sandboxes.remove(), { done: ["app"], failed: [] });
    assert.equal((await plan.cancel()).state, "cancelled");
    await assert.rejects(plan.settle("commit"), UsageError);
  });

  it("that is a database takes statements", async () => {
    using scene = new Scene();
    const database = new DatabaseSync(scene.at("data.db"));
    database.exec("CREATE TABLE t (a)");
    database.close();
    await using drydock = await scene.open();
    const plan = await drydock.plans.create({ resources: [{ location: "data.db" }] });
    await plan.sql("INSERT INTO t VALUES (7)");
    const [result] = await plan.sql("SELECT a FROM t");
    assert.deepEqual(result?.rows, [[7]]);
    await plan.cancel();
  });

  it("explains what a command would be allowed, and runs one inside", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const resources = [{ location: "app" }];
    const agent = { command: ["claude"], profiles: "automatic", strict: true } as const;
    const before = await drydock.explain({ resources, ...agent });
    assert.deepEqual([before.profiles, before.resources], [["claude"], [scene.at("app")]]);
    await assert.rejects(drydock.explain({ resources: [{ location: "nowhere" }] }), {
      code: "NO_SUCH_RESOURCE",
    });
    const plan = await drydock.plans.create({ resources });
    assert.deepEqual(await plan.explain(agent), before);
    assert.deepEqual((await plan.explain()).profiles, []);
    const { exitCode } = await plan.exec({
      command: ["sh", "-c", "echo inside > file; exit 3"],
      cwd: scene.at("app"),
    });
    assert.equal(exitCode, 3);
    assert.equal(await textIn(plan, "file"), "inside\n");
    assert.equal(scene.text("app", "file"), "old\n");
    await plan.abandon();
  });
});

describe("A plan of several resources", () => {
  it("gives each by its name, and says so where one is missing", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const resources = ["app", "settings"].map((location) => ({ location, strategy: COPY }));
    const plan = await drydock.plans.create({ resources });
    const calls: readonly (() => Promise<unknown>)[] = [
      () => plan.read("file"),
      () => plan.write("file", "x"),
      () => plan.path(),
      () => plan.sql("x"),
      () => plan.sandbox(),
    ];
    for (const call of calls)
      await assert.rejects(call, {
        name: "UsageError",
        message: /has several resources/,
        hint: /app, settings/,
      });
    for (const name of ["app", "settings"]) await plan.resource(name).write("file", `${name}\n`);
    assert.equal((await plan.apply()).participants.length, 2);
    assert.deepEqual([scene.text("app", "file"), scene.text("settings", "file")], ["app\n", "settings\n"]);
  });
});

describe("An apply and an undo", () => {
  it("fail by the same class, with the reason by its code, also before anything has begun", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const plan = await drydock.plans.create({ resources: [{ location: "app", strategy: COPY }] });
    await assert.rejects(plan.undo(), (error) => {
      assert.ok(error instanceof AtomicCommitError);
      assert.equal(error.reason, "PLAN_STATE");
      return true;
    });
    await plan.write("file", "new\n");
    writeFileSync(scene.at("app/file"), "rival\n");
    await assert.rejects(plan.apply(), (error) => {
      assert.ok(error instanceof AtomicCommitError);
      assert.equal(error.reason, "CONFLICT");
      return true;
    });
    writeFileSync(scene.at("app/file"), "old\n");
    await plan.rollback();
    await plan.write("file", "new\n");
    await plan.apply();
    writeFileSync(scene.at("app/file"), "rival\n");
    await assert.rejects(plan.undo(), (error) => {
      assert.ok(error instanceof AtomicCommitError);
      assert.deepEqual([error.reason, error.conflicts[0]?.path], ["CONFLICT", "file"]);
      return true;
    });
  });
});
