import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runUnprivileged } from "./unprivileged.ts";

describe("SIGKILL at the failpoints that only a user without privilege passes", () => {
  for (const scenario of ["apply", "undo"] as const)
    it(`[A3][A11][A17] a crash in ${scenario} leaves no read-only folder open`, async (t) => {
      const points = await runUnprivileged(scenario, { kills: true });
      assert.ok(
        points.includes("land.unlock") && points.includes("land.lock"),
        "no folder had to be opened up",
      );
      t.diagnostic(`${scenario}: ${points.length} points`);
    });

  for (const [crash, point] of [
    ["move.lock:1=kill", "stage.folder-mode"],
    ["move.lock:2=kill", "land.modes"],
  ] as const)
    it(`[A3][A11][A17] so does one in the recovery from a crash of apply at ${crash}`, async () => {
      const points = await runUnprivileged("apply", { kills: true, recoveryFrom: crash });
      assert.ok(points.includes(point), "no folder had to be closed again");
    });

  it("[C6][A17] a crash in restore leaves no read-only folder open", async (t) => {
    const points = await runUnprivileged("restore", { kills: true });
    assert.ok(points.includes("restore.unlock"), "no folder had to be opened up");
    t.diagnostic(`restore: ${points.length} points`);
  });
});
