import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type DriverOptions, type DriverRequest, runDriver } from "../crash/run-driver.ts";
import type { AnyCloneScene } from "./clone-scene.ts";
import { leftIn } from "./held-scene.ts";

/** What is done in the clone, and what a query then shows in the original: before the landing, and after. */
interface CrashOutcomes {
  readonly work: string;
  readonly query: string;
  readonly old: string;
  readonly new: string;
}

/** A plan over a clone and a folder, whose operations die in processes of their own. */
export class CrashScene {
  readonly scene: AnyCloneScene<unknown>;
  readonly files: string;
  readonly #outcomes: CrashOutcomes;
  #plans = 0;

  constructor(scene: AnyCloneScene<unknown>, outcomes: CrashOutcomes) {
    this.scene = scene;
    this.#outcomes = outcomes;
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
    await this.scene.run(this.#outcomes.work);
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
    const { query, old, new: landed } = this.#outcomes;
    const rows = await this.scene.original(query);
    const sides = [
      rows === old ? "old" : rows === landed ? "new" : `neither: ${rows}`,
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
