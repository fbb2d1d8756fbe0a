import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { AtomicCommitError } from "../../src/core/errors/errors.ts";
import type { Services } from "../../src/services.ts";
import { type DriverRequest, runDriver } from "../crash/run-driver.ts";
import { FAILPOINT_NAMES } from "../failpoint-names.ts";
import { type MountedImage, mountImage, whyNoImages } from "../support/file-systems.ts";
import { PlanModel } from "./plan-model.ts";
import { KEYS, type Name, PlanWorld } from "./plan-world.ts";
import { assertInTime } from "./property-runs.ts";

/** What can be done, some of it more often than the rest. */
const STEPS = [
  ...["set", "set", "set", "remove", "exec", "checkpoint", "restore", "part", "part"],
  ...["undo", "rollback", "apply", "next"],
] as const;
const POINTS = FAILPOINT_NAMES.filter((name) =>
  /^(?:landings|land|stage|store|journal|checkpoint|restore|part|left|copy|git|sqlite|overlay|snapshot|cleanup)\./.test(
    name,
  ),
);

interface Step {
  readonly do: string;
  readonly on: number;
  readonly at: number;
  /** The process that does it dies at one of the points, if it passes it. */
  readonly crash: number | null;
}

const step: fc.Arbitrary<Step> = fc.record({
  do: fc.constantFrom(...STEPS),
  on: fc.nat(),
  at: fc.nat(),
  crash: fc.option(fc.nat(), { freq: 2 }),
});

/** Does the steps in the world and in the model, and compares them after each. */
class Sequence {
  readonly #world: PlanWorld;
  #model: PlanModel;
  #count = 0;

  constructor(world: PlanWorld) {
    this.#world = world;
    this.#model = PlanModel.over(world.originals());
  }

  async begin(): Promise<void> {
    this.#world.plan = `plan-${this.#next()}`;
    this.#model = PlanModel.over(this.#model.originals);
    await this.#world.with(({ plans }) =>
      plans.create({ name: this.#world.plan, resources: this.#world.resources() }),
    );
  }

  async perform({ do: what, on, at, crash }: Step): Promise<void> {
    const { plan } = this.#world;
    const model = this.#model;
    const name = pick(this.#world.names, on);
    const key = pick(KEYS, at);
    const isOpen = model.state === "open";
    if (what === "next") {
      if (!isOpen) await this.begin();
    } else if (what === "undo") {
      if (model.landings.length === 0 || model.state === "undone") return;
      if (model.refusesUndo) await this.#refusedUndo();
      else await this.#do({ operation: "undo" }, crash, model.undo(), ({ plans }) => plans.undo(plan));
    } else if (isOpen) await this.#work(what, name, key, at, crash);
    await this.#assertModel(this.#model);
  }

  async #work(what: string, name: Name, key: string, at: number, crash: number | null): Promise<void> {
    const { plan } = this.#world;
    const model = this.#model;
    if (what === "set" || what === "remove") {
      const value = what === "set" ? `value ${this.#next()}` : undefined;
      await this.#world.with((drydock) => this.#world.set(drydock, name, key, value));
      this.#model = model.set(name, key, value);
    } else if (what === "exec") await this.#exec(key);
    else if (what === "checkpoint") {
      const label = `label ${this.#next()}`;
      await this.#do({ operation: "save-plan", label }, crash, model.checkpoint(label), ({ checkpoints }) =>
        checkpoints.checkpoint(plan, { label }),
      );
    } else if (what === "restore") {
      const label = pick(model.checkpoints, at)?.label;
      if (label !== undefined)
        await this.#do({ operation: "restore-plan", label }, crash, model.restore(label), ({ checkpoints }) =>
          checkpoints.restore(plan, label),
        );
    } else if (what === "part") await this.#part(pick(this.#world.folders, at), crash);
    else if (what === "apply")
      await this.#do({ operation: "apply" }, crash, model.apply(), ({ plans }) => plans.apply(plan));
    else await this.#rollback(crash);
  }

  /** In every folder at once, through a command that sees them at their own places. */
  async #exec(key: string): Promise<void> {
    const value = `executed ${this.#next()}`;
    const { folders } = this.#world;
    const targets = folders.map((name) => `${this.#world.location(name)}/${key}`);
    const command = [
      "sh",
      "-c",
      'v=$1; shift; for f; do printf %s "$v" > "$f"; done',
      "sh",
      value,
      ...targets,
    ];
    const { exitCode } = await this.#world.with((drydock) => drydock.exec(this.#world.plan, { command }));
    assert.equal(exitCode, 0);
    this.#model = folders.reduce((model, name) => model.set(name, key, value), this.#model);
  }

  async #part(name: Name, crash: number | null): Promise<void> {
    const key = KEYS.find((candidate) => this.#model.hasChange(name, candidate));
    if (key === undefined) return;
    const only = [`${name}:${key}`];
    await this.#do({ operation: "apply", only }, crash, this.#model.applyPart(name, key), ({ plans }) =>
      plans.apply(this.#world.plan, { only }),
    );
  }

  /**
   * One sandbox after the other is rolled back, so a crash may leave some; the next rollback does the rest.
   */
  async #rollback(crash: number | null): Promise<void> {
    const { plan } = this.#world;
    if (crash !== null) await this.#die({ operation: "rollback" }, crash);
    await this.#world.with(({ plans }) => plans.rollback(plan));
    this.#model = this.#model.rollback();
  }

  async #refusedUndo(): Promise<void> {
    const undo = this.#world.with(({ plans }) => plans.undo(this.#world.plan));
    await assert.rejects(
      undo,
      (thrown) => thrown instanceof AtomicCommitError && thrown.conflicts.length > 0,
    );
  }

  /** Does it here; or in a process that dies: then it is done wholly or not at all. */
  async #do(
    request: Pick<DriverRequest, "operation" | "label" | "only">,
    crash: number | null,
    after: PlanModel,
    action: (drydock: Services) => Promise<unknown>,
  ): Promise<void> {
    if (crash === null) await this.#world.with(action);
    else await this.#die(request, crash);
    this.#model = crash === null || (await this.#is(after)) ? after : this.#model;
  }

  async #die(request: Pick<DriverRequest, "operation" | "label" | "only">, crash: number): Promise<void> {
    const { stateDir, plan } = this.#world;
    const failpoints = `${pick(POINTS, crash)}:${(crash % 3) + 1}=kill`;
    const end = await runDriver({ ...request, stateDir, plan }, { failpoints });
    assert.equal(end.failed, undefined, end.failed?.stack);
  }

  async #is(model: PlanModel): Promise<boolean> {
    return isDeepStrictEqual(await this.#seen(model), expected(model));
  }

  async #assertModel(model: PlanModel): Promise<void> {
    assert.deepEqual(await this.#seen(model), expected(model));
  }

  async #seen(model: PlanModel): Promise<Expected> {
    return await this.#world.with(async (drydock) => {
      const { plan } = this.#world;
      const { state } = await drydock.plans.show(plan);
      const isOpen = state === "open" && model.state === "open";
      const labels = (await drydock.checkpoints.list(plan)).flatMap(({ label }) => label ?? []);
      const originals = this.#world.originals();
      return { state, labels, originals, sandboxes: isOpen ? await this.#world.sandboxes(drydock) : "over" };
    });
  }

  #next(): number {
    this.#count += 1;
    return this.#count;
  }
}

interface Expected {
  readonly state: string;
  readonly labels: readonly string[];
  readonly originals: PlanModel["originals"];
  readonly sandboxes: PlanModel["sandboxes"] | "over";
}

function expected({ state, checkpoints, originals, sandboxes }: PlanModel): Expected {
  const labels = checkpoints.map(({ label }) => label);
  return { state, labels, originals, sandboxes: state === "open" ? sandboxes : "over" };
}

function pick<T>(items: readonly T[], number: number): T {
  return items[number % Math.max(items.length, 1)] as T;
}

describe("a plan over a copy, a clone, an overlay, a snapshot, a checkout and a database", () => {
  let image: MountedImage | undefined;
  before(() => {
    if (whyNoImages() === undefined) image = mountImage("btrfs");
  });
  after(() => image?.remove());

  it("[A1][A3][A18][C6][L2][T2][T3] is after each of random steps, crashes among them, what a model in memory says", async () => {
    await assertInTime(
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 14, size: "max" }), async (steps) => {
        using world = new PlanWorld(image?.path);
        const sequence = new Sequence(world);
        await sequence.begin();
        for (const each of steps) await sequence.perform(each);
      }),
      6,
      4,
    );
  });
});
