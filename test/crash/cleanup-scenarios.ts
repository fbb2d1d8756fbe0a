import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { openServices } from "../../src/runtime.ts";
import { runDriver } from "./run-driver.ts";
import { apply, assertNothingLeft, type Scenario } from "./scenarios.ts";
import { PLAN, type World } from "./world.ts";

/** Purging what a cancelled plan has left, because the policy says that nothing is removed by itself. */
export const purge: Scenario = {
  name: "purge",
  operation: "purge",
  arrange: async (world) => {
    const digest = await world.plan();
    await world.with(({ checkpoints }) => checkpoints.checkpoint(PLAN));
    await cancelManually(world);
    return digest;
  },
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in purge"), "old");
    await world.with(async ({ cleanup }) => {
      const { kept, failed } = await cleanup.purge();
      assert.deepEqual([kept, failed], [[], []]);
      assert.deepEqual(await cleanup.scan(), []);
    });
    await assertNothingLeft(world);
  },
};

/** Undo records that are too old go when the state is opened. */
export const expire: Scenario = {
  name: "expiry of an undo record",
  operation: "expire",
  arrange: async (world) => {
    const digest = await apply.arrange(world);
    await world.with(({ plans }) => plans.apply(PLAN));
    return digest;
  },
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in the expiry"), "new");
    const { undo } = await world.with(({ plans }) => plans.show(PLAN));
    if (undo !== undefined && "not" in undo)
      await world.with(({ plans }) => assert.rejects(plans.undo(PLAN), { reason: "UNDO_DISCARDED" }));
    const { failed } = await runDriver(world.request("expire"));
    assert.equal(failed, undefined);
    await world.with(async ({ cleanup }) => assert.deepEqual(await cleanup.scan(), []));
    assert.equal(world.side(sides, "after the expiry"), "new");
    await assertNothingLeft(world);
  },
};

async function cancelManually(world: World): Promise<void> {
  const config = join(world.stateDir, "..", "manual.yaml");
  writeFileSync(config, "sandbox: { cleanup: manual }\n");
  const drydock = await openServices({ stateDir: world.stateDir, cwd: "/", environment: {}, config });
  try {
    await drydock.plans.cancel(PLAN);
  } finally {
    await drydock.close();
  }
}
