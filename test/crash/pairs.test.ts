import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { IS_LONG } from "../support/long-form.ts";
import { type Case, runCases } from "./case-run.ts";
import { firstAndLast, spread, tracePoints } from "./points.ts";
import { runDriver } from "./run-driver.ts";
import { apply, recoveryAfter, requestOf, type Scenario, undo } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

/**
 * A failure while undoing a failure: the first one makes the operation take back what it did, or die; the
 * second one hits that.
 */
const COPY: WorldOptions = { strategy: "filesystem_copy" };
const ACTIONS = ["kill", "error", "enospc", "eacces"] as const;

/**
 * Where apply fails and takes back what it has prepared: with nothing of the second folder staged, half of
 * it, all of it.
 */
const FAILURES = ["stage.take-out:2=error", "stage.manifest:3=enospc", "landings.flush-staged:2=eacces"];

/** Where recovery begins, before the decision and after it. */
const CRASHES: readonly (readonly [first: Scenario, failpoint: string])[] = [
  [apply, "stage.take-out:20=kill"],
  [apply, "stage.manifest:3=kill"],
  [apply, "land.add:3=kill"],
  [apply, "land.remove:2=kill"],
  [undo, "land.exchange:2=kill"],
];

describe("a failure while undoing a failure", () => {
  for (const first of FAILURES)
    it(`[A3][A5][A7] apply fails (${first}), and what takes it back fails or dies`, (t) =>
      failTwice(t, first));

  for (const [scenario, crash] of CRASHES)
    it(`[A3][A7][A17] ${scenario.name} dies (${crash}), and its recovery fails`, async (t) => {
      const recovery = recoveryAfter(scenario, crash);
      const passes = await tracePoints(recovery, COPY);
      const cases = spread(firstAndLast(passes), 1).map(({ name, pass }, index) =>
        driverCase(recovery, `${name}:${pass}=${ACTIONS[1 + (index % 3)]}`),
      );
      await runCases(recovery, COPY, cases);
      t.diagnostic(`${recovery.name}: ${passes.size} points, ${cases.length} errors`);
    });
});

/** Traces an apply that fails at `first`, then disturbs what it passes after that point. */
async function failTwice(t: TestContext, first: string): Promise<void> {
  const undisturbed = await tracePoints(apply, COPY);
  const failing: Scenario = { ...apply, name: `apply with ${first}` };
  const passes = await tracePoints(failing, COPY, first);
  const takingBack = [...passes.keys()].filter(
    (name) =>
      !undisturbed.has(name) ||
      ((passes.get(name) ?? 0) > 0 && /^(?:stage|landings|store|copy)\./.test(name)),
  );
  const chosen = firstAndLast(new Map(takingBack.map((name) => [name, passes.get(name) ?? 0])));
  const cases = spread(chosen, 2).flatMap(({ name, pass }, index) => {
    const actions = IS_LONG ? ACTIONS : [ACTIONS[0], ACTIONS[1 + (index % 3)] as string];
    return actions.map((action) => driverCase(failing, `${first},${name}:${pass}=${action}`));
  });
  await runCases(failing, COPY, cases);
  t.diagnostic(`${failing.name}: ${takingBack.length} points, ${cases.length} pairs`);
}

/** Whatever it does, it ends in order: killed, done, or failed with an error of ours. */
function driverCase(scenario: Scenario, failpoints: string): Case {
  return {
    name: `${scenario.name} with ${failpoints}`,
    disturb: async ({ world }) => {
      const { signal, done, failed, stderr } = await runDriver(requestOf(scenario, world), { failpoints });
      assert.ok(signal === "SIGKILL" || done !== undefined || failed !== undefined, stderr);
    },
  };
}
