import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import {
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { ApplyResult } from "../../src/index.ts";
import { openServices } from "../../src/runtime.ts";
import { IS_LONG } from "../support/long-form.ts";
import { removeFolder } from "../support/remove-folder.ts";
import { buildRichTree, changeRichTree } from "../support/rich-tree.ts";
import { DrydockProcess, lastResult } from "./drydock-process.ts";

const PLANNED = "the plan's content, as it was when it was applied\n";

describe("A process that goes on working in a sandbox", () => {
  for (const how of ["descriptor", "mapping", "folder"] as const) {
    for (const moment of [
      "stage.manifest:1",
      "store.written:4",
      "land.exchange:1",
      "landings.flush-landed:1",
      "none",
    ]) {
      // In a normal run a descriptor at every moment, and the others where it lands.
      if (!IS_LONG && how !== "descriptor" && !/^(?:land\.|none)/.test(moment)) continue;
      for (const cleanup of moment === "none" ? ["on_apply", "manual"] : ["on_apply"]) {
        it(`[A20] never reaches the original by its ${how} (stop at ${moment}, cleanup ${cleanup})`, async () => {
          await using scene = await Scene.begin(cleanup);
          await using holder = await Holder.start(how, scene.heldBy(how));
          await using child = new DrydockProcess(
            { stateDir: scene.stateDir, config: scene.config, calls: [["apply", scene.planId]] },
            moment === "none" ? {} : { failpoint: `${moment}=stop` },
          );
          if (await child.stops()) await holder.write("LATE, during the apply");
          else assert.equal(moment, "none");
          child.goOn();
          assert.equal(lastResult<ApplyResult>(await child.ends()).state, "applied");
          await holder.write("LATER, after the apply");
          assert.equal(readFileSync(scene.original("file"), "utf8"), PLANNED);
          assert.equal(readFileSync(scene.original("new/inner"), "utf8"), PLANNED);
          assert.deepEqual(readdirSync(scene.original("new")), ["inner"]);
          if (how === "folder" || cleanup === "on_apply") return;
          // The sandbox is still there and still theirs.
          assert.match(readFileSync(scene.sandbox("file"), "utf8"), /^LATER/);
        });
      }
    }
  }

  it("[A20] never shares a file with the original that it gives another name while the plan is prepared", async () => {
    await using scene = await Scene.begin("manual");
    await using child = new DrydockProcess(
      { stateDir: scene.stateDir, config: scene.config, calls: [["apply", scene.planId]] },
      { failpoint: "stage.take-out:1=stop" },
    );
    assert.ok(await child.stops());
    linkSync(scene.sandbox("file"), scene.sandbox("late"));
    child.goOn();
    assert.equal(lastResult<ApplyResult>(await child.ends()).state, "applied");
    assert.equal(readFileSync(scene.original("file"), "utf8"), PLANNED);
    assert.equal(lstatSync(scene.original("file")).nlink, 1);
    writeFileSync(scene.sandbox("late"), "LATER, after the apply");
    assert.equal(readFileSync(scene.original("file"), "utf8"), PLANNED);
  });

  it("[A20] never finds an inode of its sandbox in the original, at any moment of an apply", async () => {
    const base = mkdtempSync(join(tmpdir(), "drydock-inodes-"));
    try {
      mkdirSync(join(base, "original"));
      buildRichTree(join(base, "original"));
      const drydock = await openServices({ stateDir: join(base, "state"), cwd: base, environment: {} });
      const plan = await drydock.plans.create({
        resources: [{ location: "original", strategy: "filesystem_copy" }],
      });
      const sandbox = await drydock.plans.path(plan.id);
      changeRichTree(sandbox);
      await drydock.close();
      const points = [
        "stage.take-out",
        "stage.manifest",
        "land.add",
        "land.exchange",
        "land.remove",
        "land.link",
        "land.record",
      ];
      await using child = new DrydockProcess(
        { stateDir: join(base, "state"), calls: [["apply", plan.id]] },
        { failpoint: points.map((point) => `${point}=stop`).join() },
      );
      let looks = 0;
      for (; await child.stops(); child.goOn()) {
        const shared = inodesIn(sandbox).intersection(inodesIn(join(base, "original")));
        assert.deepEqual([...shared], []);
        looks += 1;
      }
      assert.ok(looks > 20, `${looks} looks`);
      assert.deepEqual(lastResult<ApplyResult>(await child.ends()).attention, []);
    } finally {
      removeFolder(base);
    }
  });
});

/** An original, and a plan with a changed file and a new folder in its sandbox. */
class Scene {
  readonly #base: string;
  readonly #sandbox: string;
  readonly planId: string;

  private constructor(base: string, planId: string, sandbox: string) {
    this.#base = base;
    this.planId = planId;
    this.#sandbox = sandbox;
  }

  static async begin(cleanup: string): Promise<Scene> {
    const base = mkdtempSync(join(tmpdir(), "drydock-held-"));
    mkdirSync(join(base, "original"));
    writeFileSync(join(base, "original", "file"), "old\n");
    writeFileSync(join(base, "drydock.yaml"), `sandbox: { cleanup: ${cleanup} }\n`);
    const drydock = await openServices({ stateDir: join(base, "state"), cwd: base, environment: {} });
    const plan = await drydock.plans.create({
      resources: [{ location: "original", strategy: "filesystem_copy" }],
    });
    await drydock.plans.write(plan.id, "original", "file", Buffer.from(PLANNED));
    await drydock.plans.write(plan.id, "original", "new/inner", Buffer.from(PLANNED));
    const sandbox = await drydock.plans.path(plan.id);
    await drydock.close();
    return new Scene(base, plan.id, sandbox);
  }

  get stateDir(): string {
    return join(this.#base, "state");
  }

  get config(): string {
    return join(this.#base, "drydock.yaml");
  }

  original(path: string): string {
    return join(this.#base, "original", path);
  }

  sandbox(path: string): string {
    return join(this.#sandbox, path);
  }

  heldBy(how: string): string {
    return this.sandbox(how === "folder" ? "new" : "file");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    removeFolder(this.#base);
  }
}

/** The other process. */
class Holder {
  readonly #child;
  readonly #lines;

  private constructor(how: string, path: string) {
    const script = fileURLToPath(import.meta.resolve("./holder.ts"));
    this.#child = spawn(process.execPath, [script, how, path], { stdio: ["pipe", "pipe", "inherit"] });
    this.#lines = createInterface({ input: this.#child.stdout })[Symbol.asyncIterator]();
  }

  static async start(how: string, path: string): Promise<Holder> {
    assert.ok(existsSync(path), path);
    const holder = new Holder(how, path);
    assert.equal((await holder.#lines.next()).value, "ready");
    return holder;
  }

  /** Returns what came of it. */
  async write(text: string): Promise<string> {
    this.#child.stdin.write(`${text}\n`);
    return String((await this.#lines.next()).value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill("SIGKILL");
  }
}

function inodesIn(folder: string): Set<number> {
  const found = new Set([lstatSync(folder).ino]);
  for (const name of readdirSync(folder, { encoding: "buffer" })) {
    const path = Buffer.concat([Buffer.from(`${folder}/`, "latin1"), name]).toString("latin1");
    const facts = lstatSync(Buffer.from(path, "latin1"));
    found.add(facts.ino);
    if (facts.isDirectory()) for (const ino of inodesIn(path)) found.add(ino);
  }
  return found;
}
