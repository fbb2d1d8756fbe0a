import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Services } from "../../src/services.ts";
import { assertNothingLeft, type Scenario } from "./scenarios.ts";
import { PLAN, type World } from "./world.ts";

const HAS_WHITEOUTS = process.geteuid?.() === 0;

/**
 * The second original joins a plan over the first, in which a command wrote to the second and removed a file
 * of it. Whatever happens, this work is in the scratch of the plan or in the sandbox of the new resource.
 */
export const add: Scenario = {
  name: "add",
  operation: "add",
  arrange: async (world) => {
    await world.with(async ({ plans, checkpoints }) => {
      const { id } = await plans.create({ name: PLAN, resources: world.resources().slice(0, 1) });
      await checkpoints.checkpoint(PLAN, { label: "before" });
      writeScratch(world, id);
    });
    return "";
  },
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in add"), "old");
    await world.with(async (drydock) => {
      const { plans, checkpoints } = drydock;
      const view = await plans.show(PLAN);
      assert.equal(view.state, "open");
      if (view.resources.length === 1) {
        assert.deepEqual((await plans.diff(PLAN)).changes, []);
        assert.deepEqual(await outside(drydock), OUTSIDE);
        await plans.add(PLAN, { resources: world.resources().slice(1) });
      }
      assert.deepEqual(await outside(drydock), []);
      const { changes } = await plans.diff(PLAN);
      assert.deepEqual(
        changes.map(({ resource, operation, path }) => `${resource} ${operation} ${path}`).toSorted(),
        ["r1 added written", "r1 added written/outside", ...DELETED, "r1 modified ."],
      );
      await checkpoints.restore(PLAN, "before");
      assert.equal((await plans.diff(PLAN)).changes.length, changes.length);
      await plans.apply(PLAN);
      const root = secondOf(world);
      assert.equal(readFileSync(join(root, "written/outside"), "utf8"), "outside\n");
      assert.equal(existsSync(join(root, REMOVED)), !HAS_WHITEOUTS);
      await plans.undo(PLAN);
    });
    assert.equal(world.side(sides, "after the undo"), "old");
    await assertNothingLeft(world);
  },
};

const REMOVED = "same";
const OUTSIDE = [...(HAS_WHITEOUTS ? [REMOVED] : []), "written/outside"];
const DELETED = HAS_WHITEOUTS ? [`r1 deleted ${REMOVED}`] : [];

function secondOf(world: World): string {
  return world.originals[1]?.location ?? "";
}

/** What a command would have left there. */
function writeScratch(world: World, planId: string): void {
  const root = secondOf(world);
  const layer = join(world.stateDir, "runs", planId, "scratch", "home-0123456789ab");
  const upper = join(layer, "upper", "original-1");
  mkdirSync(join(upper, "written"), { recursive: true });
  writeFileSync(join(layer, "at"), dirname(root));
  writeFileSync(join(upper, "written/outside"), "outside\n");
  if (HAS_WHITEOUTS) assert.equal(spawnSync("mknod", [join(upper, REMOVED), "c", "0", "0"]).status, 0);
  chmodSync(upper, 0o700);
}

/** What the plan's scratch has of the second original. */
async function outside({ scratch }: Services): Promise<readonly string[]> {
  const { files } = await scratch.list(PLAN);
  return files.map(({ path }) => path.replace(/^.*\/original-1\//, ""));
}
