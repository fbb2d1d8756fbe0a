import assert from "node:assert/strict";
import { chmodSync, existsSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Services } from "../../src/services.ts";
import { applyAndUndo, type Recovered, type Scenario } from "./scenarios.ts";
import { PLAN, type World } from "./world.ts";

/** Saving a plan: the work is as it was, and the checkpoint is whole or not there. */
export const savePlan: Scenario = {
  name: "checkpoint of a plan",
  operation: "save-plan",
  // One that is pushed out by the new one has to go too.
  arrange: async (world) => {
    const digest = await world.plan();
    await world.with(({ checkpoints }) => checkpoints.checkpoint(PLAN));
    await workOn(world);
    await workBack(world, digest);
    return digest;
  },
  verify: async ({ world, sides, digest }) => {
    assert.equal(world.side(sides, "after a crash in checkpoint"), "old");
    assert.equal(await digestOf(world), digest, "the work is not as it was");
    await assertOnlyKept(world);
    const labels = await labelsOf(world);
    assert.ok([1, 2].includes(labels.length), labels.join());
    if (!labels.includes("saved"))
      await world.with(({ checkpoints }) => checkpoints.checkpoint(PLAN, { label: "saved" }));
    await workOn(world);
    await world.with(({ checkpoints }) => checkpoints.restore(PLAN, "saved"));
    assert.equal(await digestOf(world), digest, "the checkpoint is not what was saved");
    await applyAndUndo(world, sides);
  },
};

/** Restoring a plan: all sandboxes are at the checkpoint, or none is. */
export const restorePlan: Scenario = {
  name: "restore of a plan",
  operation: "restore-plan",
  arrange: async (world) => {
    const good = await world.plan();
    await world.with(({ checkpoints }) => checkpoints.checkpoint(PLAN, { label: "good" }));
    await workOn(world);
    await world.with(({ checkpoints }) => checkpoints.checkpoint(PLAN, { label: "later" }));
    return `${good}:${await digestOf(world)}`;
  },
  verify: verifyRestore,
};

async function verifyRestore({ world, sides, digest }: Recovered): Promise<void> {
  const [good, later] = digest.split(":");
  assert.equal(world.side(sides, "after a crash in restore"), "old");
  await world.with(async ({ plans }) => assert.equal((await plans.show(PLAN)).state, "open"));
  await assertOnlyKept(world);
  const now = await digestOf(world);
  assert.ok(
    now === good || now === later,
    "the sandboxes are neither all at the checkpoint nor all as they were",
  );
  assert.deepEqual(await labelsOf(world), now === good ? ["good"] : ["good", "later"]);
  await world.with(({ checkpoints }) => checkpoints.restore(PLAN, "good"));
  assert.equal(await digestOf(world), good, "restoring again");
  await applyAndUndo(world, sides);
}

const LATER = "later/work";

/** In every sandbox something comes, and something that was added goes. */
async function workOn(world: World): Promise<void> {
  await eachSandbox(world, async ({ plans }, name) => {
    await plans.write(PLAN, name, LATER, Buffer.from("later\n"));
    await plans.write(PLAN, name, "same", Buffer.from("not the same\n"));
    const path = await plans.path(PLAN, name);
    // Names of files that have others elsewhere go, and something comes into a folder that is closed then.
    rmSync(join(path, "links"), { recursive: true, force: true });
    if (!existsSync(join(path, "folder"))) return;
    writeFileSync(join(path, "folder/later"), "later\n");
    chmodSync(join(path, "folder"), 0o555);
  });
}

/** Takes that back through the checkpoint of before, so that it was restored once. */
async function workBack(world: World, digest: string): Promise<void> {
  await world.with(async ({ checkpoints }) => {
    const [first] = await checkpoints.list(PLAN);
    await checkpoints.restore(PLAN, first?.id ?? "");
  });
  assert.equal(await digestOf(world), digest);
}

async function eachSandbox(
  world: World,
  action: (drydock: Services, name: string) => Promise<void>,
): Promise<void> {
  await world.with(async (drydock) => {
    for (const { name } of world.resources()) await action(drydock, name);
  });
}

async function digestOf(world: World): Promise<string> {
  return await world.with(async ({ plans }) => (await plans.diff(PLAN)).digest);
}

async function labelsOf(world: World): Promise<(string | undefined)[]> {
  return await world.with(async ({ checkpoints }) =>
    (await checkpoints.list(PLAN)).map(({ label }) => label),
  );
}

/** Nothing is saved in any workspace but what a checkpoint that is listed could need. */
async function assertOnlyKept(world: World): Promise<void> {
  const kept = new Set(
    await world.with(async ({ checkpoints }) => (await checkpoints.list(PLAN)).map(({ id }) => id)),
  );
  const homes = join(world.stateDir, "sandboxes");
  for (const home of readdirSync(homes)) {
    const folder = join(homes, home, "checkpoints");
    const strangers = existsSync(folder) ? readdirSync(folder).filter((id) => !kept.has(id)) : [];
    assert.deepEqual(strangers, [], "data of a checkpoint that nobody knows");
    assert.equal(existsSync(join(homes, home, "restoring")), false, "a restore is not over");
  }
}
