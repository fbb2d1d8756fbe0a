import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BY_KERNEL } from "../support/overlay-runs.ts";
import { MergeScene } from "./merge-scene.ts";

describe("plan update and folders", () => {
  for (const [strategy, skip] of [
    ["filesystem_copy", false],
    ["overlay", BY_KERNEL.skip],
  ] as const)
    it(`[V9] says of a folder that the plan deletes that others changed it, with ${strategy}`, {
      skip,
    }, async () => {
      await using scene = await MergeScene.open(strategy, { "folder/file": "one\n" });
      const plan = await scene.plan();
      const place = { plan, resource: "work", path: "folder" };
      await scene.drydock.entries.remove(place, { recursive: true });
      scene.other("folder/new", "theirs\n");
      const { unmerged } = await scene.drydock.updates.update(plan);
      const why = "changed in the original, and the plan deletes it";
      assert.deepEqual(unmerged, [{ resource: "work", path: "folder", why }]);
    });
});
