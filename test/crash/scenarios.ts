import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import type { RecoveryReport } from "../../src/commit/recovery.ts";
import type { ResourceRequest } from "../../src/plans/plan-views.ts";
import type { Services } from "../../src/services.ts";
import { treeDifferences } from "../support/tree-snapshot.ts";
import { type DriverEnd, type DriverOptions, type DriverRequest, runDriver } from "./run-driver.ts";
import { PLAN, type Sides, type World } from "./world.ts";

/** What a case starts from, and what it has to know at its end. */
export interface Arranged {
  readonly world: World;
  readonly sides: Sides;
  /** Of the diff, before anything was done to the plan. */
  readonly digest: string;
}

/** The same after the crash and after recovery, with what that said. */
export interface Recovered extends Arranged {
  readonly recovery: RecoveryReport;
}

/** Something that a process does and can die in. */
export interface Scenario {
  readonly name: string;
  readonly operation: DriverRequest["operation"];
  /** What to ask for besides the operation. */
  readonly more?: Partial<DriverRequest>;
  /** Failpoints that act in any case, whatever else is to happen. */
  readonly always?: string;
  /** What a rival does when the operation stops at one of them. */
  readonly rival?: (world: World) => void;
  /** Brings the world to where the operation can begin; returns the digest of the diff. */
  arrange(world: World): Promise<string>;
  /**
   * Whether the world is again as it was arranged, so that the operation can be disturbed in it once more.
   * Without it, each disturbance has a world of its own.
   */
  readonly isAsArranged?: ((recovered: Recovered) => Promise<boolean>) | undefined;
  /**
   * The world after the crash and after recovery has run twice: sees that all is well, and that all goes on
   * from here.
   */
  verify(recovered: Recovered): Promise<void>;
}

export const create: Scenario = {
  name: "create",
  operation: "create",
  arrange: async () => "",
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in create"), "old");
    const [plan] = await world.with(({ plans }) => plans.list({ all: true }));
    if (plan === undefined || plan.state === "cancelled") return await assertNothingLeft(world);
    assert.equal(plan.state, "open");
    await world.with(async ({ plans }) => {
      for (const [index, before] of sides.before.entries()) {
        const copy = world.originals[index]?.snapshot(await plans.path(PLAN, `r${index}`)) ?? new Map();
        assert.deepEqual(treeDifferences(copy, before), [], "the sandbox is not a copy of the original");
      }
      assert.deepEqual((await plans.diff(PLAN)).changes, []);
      await world.work(plans);
    });
    await applyAndUndo(world, sides);
  },
};

export const write: Scenario = {
  name: "write",
  operation: "write",
  arrange: (world) => world.plan(),
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in write"), "old");
    await world.with(async ({ plans }) => {
      const { changes } = await plans.diff(PLAN, { paths: ["folder/written"] });
      if (changes.some(({ path }) => path === "folder/written/file"))
        assert.match(
          Buffer.from(await plans.read(PLAN, "r1", "folder/written/file")).toString(),
          /^(?:written\n)?$/,
        );
      await plans.cancel(PLAN);
    });
    await assertNothingLeft(world);
  },
};

/**
 * The same on a file that is there already, with one name or with several. Nothing else comes into the plan
 * by it.
 */
export const overwrite = overwriting("r1", "same", ["same\n", "written\n"]);
export const overwriteLinked = overwriting("r0", "links/growing-1", ["growing group\n", "", "written\n"]);

/** Writing over this file: afterwards it holds one of these. */
export function overwriting(resource: string, path: string, contents: readonly string[]): Scenario {
  return {
    ...write,
    name: `write over ${path}`,
    more: { resource, path },
    verify: async ({ world, sides }) => {
      assert.equal(world.side(sides, "after a crash in write"), "old");
      await world.with(async ({ plans }) => {
        const now = Buffer.from(await plans.read(PLAN, resource, path)).toString();
        assert.ok(contents.includes(now), `it holds ${JSON.stringify(now)}`);
        const { changes } = await plans.diff(PLAN);
        const strangers = changes.filter((change) => /\.(?:new|drydock)|drydock-/.test(change.path));
        assert.deepEqual(strangers, [], "a file of ours is in the diff");
        await plans.cancel(PLAN);
      });
      await assertNothingLeft(world);
    },
  };
}

/** Work in place has no sandbox to speak of, but a record of what was there. */
export const createInPlace: Scenario = {
  ...create,
  name: "create in place",
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in create"), "old");
    const [plan] = await world.with(({ plans }) => plans.list({ all: true }));
    if (plan?.state === "open") await world.with(({ plans }) => plans.cancel(PLAN));
    await assertNothingLeft(world);
  },
};

export const cancelInPlace: Scenario = {
  ...createInPlace,
  name: "cancel in place",
  operation: "cancel",
  arrange: async (world) => {
    const options = { name: PLAN, resources: world.resources(), allowIrreversible: true };
    await world.with(({ plans }) => plans.create(options));
    return "";
  },
};

/**
 * A file of the original itself is written: it has its old content or the new one, and soon nothing else is
 * there.
 */
export const overwriteInPlace: Scenario = {
  ...cancelInPlace,
  name: "write in place over same",
  operation: "write",
  more: { resource: "r1", path: "same" },
  verify: async ({ world }) => {
    await world.with(async ({ plans }) => {
      assert.match(Buffer.from(await plans.read(PLAN, "r1", "same")).toString(), /^(?:same|written)\n$/);
      const paths = (await plans.diff(PLAN)).changes.map(({ path }) => path);
      assert.deepEqual(
        paths.filter((path) => path !== "same" && path !== "."),
        [],
        "a file of ours is in the diff",
      );
      await plans.cancel(PLAN);
    });
    for (const { location } of world.originals)
      assert.deepEqual(
        readdirSync(location, { recursive: true }).filter((name) => String(name).includes("drydock")),
        [],
        "a file of ours is in the original",
      );
    await assertNothingLeft(world);
  },
};

export const apply: Scenario = {
  name: "apply",
  operation: "apply",
  arrange: (world) => world.plan(),
  isAsArranged: isStillOpen,
  verify: verifyApply,
};

export const undo: Scenario = {
  name: "undo",
  operation: "undo",
  arrange: async (world) => {
    const digest = await world.plan();
    await world.with(({ plans }) => plans.apply(PLAN));
    return digest;
  },
  isAsArranged: async ({ world, sides }) =>
    world.side(sides, "after a crash in undo") === "new" && (await stateOf(world)) === "applied",
  verify: async ({ world, sides }) => {
    const side = world.side(sides, "after a crash in undo");
    assert.equal(await stateOf(world), side === "new" ? "applied" : "undone");
    if (side === "new") await undoAgain(world, sides);
    await assertNothingLeft(world);
  },
};

export const rollback: Scenario = {
  name: "rollback",
  operation: "rollback",
  arrange: (world) => world.plan(),
  isAsArranged: isStillOpen,
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in rollback"), "old");
    assert.equal(await stateOf(world), "open");
    await world.with(async ({ plans }) => {
      await plans.diff(PLAN);
      await plans.rollback(PLAN);
      assert.deepEqual((await plans.diff(PLAN)).changes, []);
      await world.work(plans);
    });
    await applyAndUndo(world, sides);
  },
};

export const cancel: Scenario = {
  name: "cancel",
  operation: "cancel",
  arrange: (world) => world.plan(),
  isAsArranged: isStillOpen,
  verify: async ({ world, sides, digest }) => {
    assert.equal(world.side(sides, "after a crash in cancel"), "old");
    if ((await stateOf(world)) !== "cancelled") {
      assert.equal(await stateOf(world), "open");
      await world.with(async ({ plans }) => {
        assert.equal((await plans.diff(PLAN)).digest, digest, "the work is not as it was");
        await plans.cancel(PLAN);
      });
    }
    await assertNothingLeft(world);
  },
};

/** What the driver is asked to do in this scenario. */
export function requestOf({ operation, more }: Scenario, world: World): DriverRequest {
  return { ...world.request(operation), ...more };
}

/** Lets the driver do it, with these failpoints besides those of the scenario. */
export async function runScenario(
  scenario: Scenario,
  world: World,
  options: DriverOptions,
): Promise<DriverEnd> {
  const { always, rival } = scenario;
  const failpoints = [options.failpoints, always].filter((given) => given !== undefined).join(",");
  return await runDriver(requestOf(scenario, world), {
    ...options,
    ...(failpoints !== "" && { failpoints }),
    ...(rival !== undefined && { whenStopped: () => rival(world) }),
  });
}

/**
 * A landing that can't finish is given up. Until that is recorded, the next start, which nothing hinders,
 * finishes it.
 */
export const giveUp = givingUp("land.add", 3);

/** The same at this pass of a point that then always fails. */
export function givingUp(point: string, pass: number): Scenario {
  return {
    name: `give up at ${point}`,
    operation: "give-up",
    always: `${point}=error`,
    arrange: async (world) => {
      const digest = await apply.arrange(world);
      await runScenario(apply, world, { failpoints: `${point}:${pass}=kill` });
      return digest;
    },
    verify: verifyApply,
  };
}

/** A crash at this point of an operation comes first; then recovery is what dies. */
export function recoveryAfter(first: Scenario, failpoints: string): Scenario {
  return {
    name: `recovery after ${first.name} with ${failpoints}`,
    operation: "recover",
    arrange: async (world) => {
      const digest = await first.arrange(world);
      await runScenario(first, world, { failpoints });
      return digest;
    },
    verify: (recovered) => first.verify(recovered),
  };
}

/** Somebody died a while ago, between taking its lock and claiming anything with it. */
export const applyAfterForgottenLock: Scenario = {
  ...apply,
  name: "apply after a lock was forgotten",
  isAsArranged: undefined,
  arrange: async (world) => {
    const digest = await recoveryAfter(apply, "store.claim=kill").arrange(world);
    world.ageLocks();
    return digest;
  },
};

/**
 * Nothing has landed, and the plan is open with all of its work. An overlay is not as it was: its mounts went
 * with the crash, and its notes stay.
 */
async function isStillOpen({ world, sides, digest }: Arranged): Promise<boolean> {
  if (world.resources().some(({ strategy }) => strategy.startsWith("overlay"))) return false;
  if (world.side(sides, "after a crash") === "new" || (await stateOf(world)) !== "open") return false;
  return (await world.with(({ plans }) => plans.diff(PLAN))).digest === digest;
}

async function verifyApply({ world, sides, digest }: Arranged): Promise<void> {
  const side = world.side(sides, "after a crash in apply");
  assert.equal(await stateOf(world), side === "old" ? "open" : "applied");
  if (side === "new") return await undoLanded(world, sides);
  await world.with(async ({ plans }) =>
    assert.equal((await plans.diff(PLAN)).digest, digest, "the work is not as it was"),
  );
  await applyAndUndo(world, sides);
}

/** Goes on from an open plan that holds its work to the end, where nothing is left. */
export async function applyAndUndo(world: World, sides: Sides): Promise<void> {
  const { attention, warnings } = await world.with(({ plans }) => plans.apply(PLAN));
  assert.deepEqual([attention, warnings], [[], []], "applying again");
  assert.equal(world.side(sides, "after applying again"), "new");
  await undoLanded(world, sides);
}

/** What landed leaves its undo record and nothing else; the undo leaves nothing. */
async function undoLanded(world: World, sides: Sides): Promise<void> {
  assert.deepEqual(leftBesidesUndo(world), [], "left behind by an apply");
  assert.deepEqual(await world.openRecords(), [], "open records after an apply");
  await undoAgain(world, sides);
  await assertNothingLeft(world);
}

/** What is left of ours, but for what an undo needs. */
export function leftBesidesUndo(world: World): string[] {
  const isUndoRecord =
    /^(?:home|home\/place|(?:home|workspace)\/(?:(?:git-)?landings|submodules)|workspace|owner|restored)$/;
  return world.leftovers().filter((name) => !isUndoRecord.test(name));
}

async function undoAgain(world: World, sides: Sides): Promise<void> {
  const { attention, warnings } = await world.with(({ plans }) => plans.undo(PLAN));
  assert.deepEqual([attention, warnings], [[], []], "undoing");
  assert.equal(world.side(sides, "after the undo"), "old");
}

/** Of a plan that is over. */
export async function assertNothingLeft(world: World): Promise<void> {
  // A lock is swept by the next one who takes one.
  const resource = world.resources().at(-1);
  if (resource !== undefined && world.leftovers().includes("owner"))
    await world.with((drydock) => takeALock(drydock, resource));
  // What a try to mount has left is swept by the next process that tries.
  if (world.leftovers().some((name) => name.startsWith("state/.drydock-overlay-probe-"))) {
    const request = { ...world.request("create"), plan: "next" };
    await runDriver(request);
    await runDriver({ ...request, operation: "cancel" });
  }
  assert.deepEqual(world.leftovers(), [], "left behind at the end");
  assert.deepEqual(await world.openRecords(), [], "open records at the end");
}

async function takeALock({ plans }: Services, resource: ResourceRequest): Promise<void> {
  await plans.create({ name: "other", resources: [resource], allowIrreversible: true });
  await plans.cancel("other");
}

async function stateOf(world: World): Promise<string> {
  return (await world.with(({ plans }) => plans.show(PLAN))).state;
}

/**
 * Opens twice: the first may recover, the second must find nothing to do. Only a rival is worth anybody's
 * attention.
 */
export async function recoverTwice(world: World, { rival }: Scenario): Promise<RecoveryReport> {
  world.ageLocks();
  const first = await world.with(async ({ recovery }) => recovery);
  assert.deepEqual(first.pending, [], "recovery could not settle everything");
  const attention = [...first.finished, ...first.undone].flatMap((plan) => plan.attention);
  if (rival === undefined)
    assert.deepEqual(attention, [], "recovery asks for attention, though nobody interfered");
  const second = await world.with(async ({ recovery }) => recovery);
  assert.deepEqual(
    second,
    { finished: [], undone: [], cleaned: [], pending: [] },
    "the second recovery found work",
  );
  return first;
}
