import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openDrydock, type Plan, type Progress } from "../../src/index.ts";
import { removeFolder } from "../support/remove-folder.ts";

const FILES = 300;

/** A folder with many files, and a state directory. */
class Scene implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "drydock-operations-")));
  readonly app = join(this.path, "app");

  constructor() {
    mkdirSync(this.app);
    for (let at = 0; at < FILES; at += 1) writeFileSync(join(this.app, String(at)), "old\n");
  }

  async open() {
    return await openDrydock({
      stateDir: join(this.path, "state"),
      environment: { PATH: process.env["PATH"] },
    });
  }

  [Symbol.dispose](): void {
    removeFolder(this.path);
  }
}

const codeOf = async (call: Promise<unknown>): Promise<unknown> =>
  await call.then(
    () => "done",
    ({ code, cause }) => cause?.code ?? code,
  );

describe("A call of the library", () => {
  it("is stopped by its own signal, and the calls beside and after it are not", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const resources = [{ location: scene.app, strategy: "filesystem_copy" }];
    const abort = new AbortController();
    const stopped = drydock.plans.create({
      resources,
      signal: abort.signal,
      onProgress: () => abort.abort(),
    });
    const [stop, plan] = await Promise.all([codeOf(stopped), drydock.plans.create({ resources })]);
    assert.equal(stop, "INTERRUPTED");
    assert.equal((await drydock.plans.list()).length, 1);
    await plan.write("new", "new\n");
    assert.equal(await codeOf(plan.apply({ signal: AbortSignal.abort() })), "INTERRUPTED");
    assert.equal((await plan.show()).state, "open");
    const abortCommand = new AbortController();
    const running = plan.run({
      command: ["sleep", "60"],
      signal: abortCommand.signal,
      onStart: () => abortCommand.abort(),
    });
    assert.equal(await codeOf(running), "INTERRUPTED");
    assert.equal((await plan.apply()).state, "applied");
    assert.equal(readFileSync(join(scene.app, "new"), "utf8"), "new\n");
  });

  it("tells its progress to its own listener, with plan, resource and operation", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const told = async (call: (onProgress: (progress: Progress) => void) => Promise<unknown>) => {
      const facts = new Set<string>();
      await call(({ operation, planId, resource }) => facts.add(`${operation} ${planId} ${resource}`));
      return [...facts];
    };
    let plan: Plan | undefined;
    const created = await told(async (onProgress) => {
      const resources = [{ location: scene.app, strategy: "filesystem_copy" }];
      plan = await drydock.plans.create({ resources, onProgress });
    });
    assert.ok(plan !== undefined);
    assert.deepEqual(created, [`create ${plan.id} app`]);
    await plan.write("new", "new\n");
    const { id, apply, diff } = plan;
    assert.deepEqual(await told((onProgress) => diff({ onProgress })), [`diff ${id} app`]);
    assert.deepEqual(await told((onProgress) => apply({ onProgress })), [`apply ${id} app`]);
  });
});
