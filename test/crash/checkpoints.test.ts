import { describe, it, type TestContext } from "node:test";
import { runCases } from "./case-run.ts";
import { restorePlan, savePlan } from "./checkpoint-scenarios.ts";
import { errorCases, lastingErrorCases } from "./error-cases.ts";
import { killEverywhere } from "./kill-cases.ts";
import { choosePoints, firstAndLast, tracePoints } from "./points.ts";
import { recoveryAfter, type Scenario } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };
const some = (passes: ReadonlyMap<string, number>) => firstAndLast(choosePoints(passes), passes);

async function failEverywhere(t: TestContext, scenario: Scenario): Promise<void> {
  const passes = await tracePoints(scenario, COPY);
  const own = [...passes.keys()].filter((name) => /^(?:checkpoint|restore|copy)\./.test(name));
  const cases = [...errorCases(scenario, some(passes)), ...lastingErrorCases(scenario, own)];
  await runCases(scenario, COPY, cases);
  t.diagnostic(`${scenario.name}: ${passes.size} points, ${cases.length} errors`);
}

describe("SIGKILL at every failpoint, in checkpoints of plans", () => {
  it("[C2][C7][A17] a crash in checkpoint leaves a whole one or none, and the work as it was", (t) =>
    killEverywhere(t, savePlan, COPY, some));
  it("[C6][C7][A17] a crash in restore leaves all sandboxes at the checkpoint, or none", (t) =>
    killEverywhere(t, restorePlan, COPY, some));
  for (const failpoints of ["restore.remove:2=kill", "checkpoint.end-restore:2=kill"])
    it(`[C6][A17] a crash in the recovery from a crash in restore (${failpoints}) is just another crash`, (t) =>
      killEverywhere(t, recoveryAfter(restorePlan, failpoints), COPY, some));
});

describe("an error at every failpoint, in checkpoints of plans", () => {
  it("[A5][C7] in checkpoint: a whole one or none, and the work as it was", (t) => failEverywhere(t, savePlan));
  it("[A5][C6] in restore: all sandboxes at the checkpoint, or none", (t) => failEverywhere(t, restorePlan));
});
