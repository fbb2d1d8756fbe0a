import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Case, runCases } from "./case-run.ts";
import { killCases } from "./disturb.ts";
import { firstAndLast, tracePoints } from "./points.ts";
import { createWhileChanging, deleteWhileChanging, landWhileMoving } from "./rival-scenarios.ts";
import { runScenario, type Scenario } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };

/** Lets it run to its end, then kills it at each pass of this point. */
async function killAt(scenario: Scenario, point: string): Promise<void> {
  const passes = (await tracePoints(scenario, COPY)).get(point) ?? 0;
  assert.ok(passes > 0, `${scenario.name} does not pass ${point}`);
  const undisturbed: Case = {
    name: `${scenario.name}, not killed`,
    disturb: async ({ world }) => {
      const { done, failed, stderr } = await runScenario(scenario, world, {});
      assert.notEqual(done, undefined, failed?.stack ?? stderr);
    },
  };
  const points = firstAndLast(new Map([[point, passes]]));
  await runCases(scenario, COPY, [undisturbed, ...killCases(scenario, points)]);
}

describe("SIGKILL at a failpoint that is only passed because of a rival", () => {
  it("[C2][A17] a crash in copying a file again leaves a whole plan or none", () =>
    killAt(createWhileChanging, "copy.remove-changed"));
  it("[A3][A19] a crash in giving back what was to be deleted loses nothing", () =>
    killAt(deleteWhileChanging, "land.give-back"));
  it("[A3][A19] a crash in leaving a folder that was moved away loses nothing", () =>
    killAt(landWhileMoving, "land.leave-folder"));
});
