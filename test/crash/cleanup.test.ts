import { describe, it, type TestContext } from "node:test";
import { runCases } from "./case-run.ts";
import { expire, purge } from "./cleanup-scenarios.ts";
import { errorCases } from "./error-cases.ts";
import { killEverywhere } from "./kill-cases.ts";
import { choosePoints, firstAndLast, tracePoints } from "./points.ts";
import type { Scenario } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

const COPY: WorldOptions = { strategy: "filesystem_copy" };
const some = (passes: ReadonlyMap<string, number>) => firstAndLast(choosePoints(passes), passes);

async function failEverywhere(t: TestContext, scenario: Scenario): Promise<void> {
  const passes = await tracePoints(scenario, COPY);
  const cases = errorCases(scenario, some(passes));
  await runCases(scenario, COPY, cases);
  t.diagnostic(`${scenario.name}: ${passes.size} points, ${cases.length} errors`);
}

describe("SIGKILL at every failpoint, in cleaning up", () => {
  it("[C1][C2][A17] a crash in purge leaves what the next one removes", (t) => killEverywhere(t, purge, COPY, some));
  it("[A17][A18] a crash in the expiry of an undo record only delays it", (t) => killEverywhere(t, expire, COPY, some));
});

describe("an error at every failpoint, in cleaning up", () => {
  it("[A5][C3] in purge: it says so, and the next one removes the rest", (t) => failEverywhere(t, purge));
  it("[A5][A18] in the expiry of an undo record: the next start goes on with it", (t) => failEverywhere(t, expire));
});
