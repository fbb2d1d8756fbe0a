import assert from "node:assert/strict";
import { treeDifferences } from "../support/tree-snapshot.ts";
import { callSandboxes, type SandboxCall } from "./sandbox-calls.ts";
import { applyAndUndo, type Scenario } from "./scenarios.ts";
import { PLAN, type Sides, type World } from "./world.ts";

/**
 * What a program can do with the sandboxes of a plan itself, and die in. There is no journal of it: it is
 * done again.
 */
export const checkpoint: Scenario = {
  name: "checkpoint",
  operation: "checkpoint",
  // One that is there already, of before the work, is replaced.
  arrange: async (world) => {
    await world.with(async ({ plans }) => plans.create({ name: PLAN, resources: world.resources() }));
    await call(world, "checkpoint");
    await world.with(({ plans }) => world.work(plans));
    return "";
  },
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in checkpoint"), "old");
    await assertWork(world, sides);
    await call(world, "checkpoint");
    await workOn(world);
    await call(world, "restore");
    await assertWork(world, sides);
    await applyAndUndo(world, sides);
  },
};

export const restore: Scenario = {
  name: "restore",
  operation: "restore",
  arrange: async (world) => {
    const digest = await world.plan();
    await call(world, "checkpoint");
    await workOn(world);
    return digest;
  },
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in restore"), "old");
    // Whichever was not begun still has the later work; what was begun is finished before anybody sees it.
    await assertWork(world, sides, await workSince(world));
    await call(world, "restore");
    await assertWork(world, sides);
    await applyAndUndo(world, sides);
  },
};

/** Of what each sandbox landed by itself. */
export const rollBackAlone: Scenario = {
  name: "rollback of what has landed alone",
  operation: "roll-back-alone",
  arrange: async (world) => {
    const digest = await world.plan();
    await call(world, "commit-alone");
    return digest;
  },
  verify: async ({ world, sides }) => {
    await call(world, "roll-back-alone");
    assert.equal(world.side(sides, "after rolling back again"), "old");
    await world.with(async ({ plans }) => {
      assert.deepEqual((await plans.diff(PLAN)).changes, []);
      await world.work(plans);
    });
    await applyAndUndo(world, sides);
  },
};

export const commitAlone: Scenario = {
  ...rollBackAlone,
  name: "commit alone",
  operation: "commit-alone",
  arrange: (world) => world.plan(),
};

async function call(world: World, what: SandboxCall): Promise<void> {
  await world.with((drydock) => callSandboxes(drydock, PLAN, what));
}

async function workOn(world: World): Promise<void> {
  await world.with(async ({ plans }) => {
    for (const [index, { later }] of world.originals.entries())
      await plans.write(PLAN, `r${index}`, later.path, Buffer.from(later.text));
  });
}

/** Whether each sandbox has the work that was done since the checkpoint. */
async function workSince(world: World): Promise<boolean[]> {
  const { changes } = await world.with(({ plans }) => plans.diff(PLAN));
  return world.originals.map(({ later }, index) =>
    changes.some(({ resource, path }) => resource === `r${index}` && path === later.change),
  );
}

/** The sandboxes hold the work and nothing else, but for those that have later work. */
async function assertWork(world: World, { after }: Sides, isLater: readonly boolean[] = []): Promise<void> {
  await world.with(async ({ plans }) => {
    assert.equal((await plans.show(PLAN)).state, "open");
    for (const [index, wanted] of after.entries()) {
      const sandbox = world.originals[index]?.snapshot(await plans.path(PLAN, `r${index}`)) ?? new Map();
      if (isLater[index] !== true) assert.deepEqual(treeDifferences(sandbox, wanted), [], `sandbox ${index}`);
    }
  });
}
