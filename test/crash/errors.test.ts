import { describe, it, type TestContext } from "node:test";
import { runCases } from "./case-run.ts";
import { errorCases, lastingErrorCases } from "./error-cases.ts";
import { choosePoints, firstAndLast, IS_LONG, tracePoints } from "./points.ts";
import { apply, cancel, create, rollback, type Scenario, undo } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };

/** Lets the scenario fail at its points: at the first and last pass, and, where something lands, at all passes. */
async function failEverywhere(t: TestContext, scenario: Scenario): Promise<void> {
  const passes = await tracePoints(scenario, COPY);
  const points = firstAndLast(choosePoints(passes), passes);
  const lasting = IS_LONG || scenario === apply || scenario === undo ? [...passes.keys()] : [];
  const cases = [...errorCases(scenario, points), ...lastingErrorCases(scenario, lasting)];
  await runCases(scenario, COPY, cases);
  t.diagnostic(`${scenario.name}: ${passes.size} points, ${cases.length} errors`);
}

describe("an error at every failpoint", () => {
  it("[A1][A2][A4][A5][A7] in apply: all or nothing, and its report is true", (t) => failEverywhere(t, apply));
  it("[A1][A2][A5] in undo: all or nothing", (t) => failEverywhere(t, undo));
  it("[A1][C2] in create: a whole plan or none", (t) => failEverywhere(t, create));
  it("[A5][L4] in rollback: the plan stays open", (t) => failEverywhere(t, rollback));
  it("[A5][C2] in cancel: the plan stays, or goes", (t) => failEverywhere(t, cancel));
});
