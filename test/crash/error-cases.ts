import assert from "node:assert/strict";
import * as errors from "../../src/core/errors/errors.ts";
import { UnmountError } from "../../src/system/mount/unmount.ts";
import type { Case } from "./case-run.ts";
import type { Point } from "./points.ts";
import { type DriverEnd, runDriver } from "./run-driver.ts";
import { type Arranged, requestOf, type Scenario } from "./scenarios.ts";

const ACTIONS = ["error", "enospc", "eacces"] as const;
const OUR_ERRORS = new Set([
  ...Object.keys(errors).filter((name) => name.endsWith("Error")),
  UnmountError.name,
]);

/** An error at each of these points, once at its pass; the kinds of error take turns. */
export function errorCases(scenario: Scenario, points: readonly Point[]): Case[] {
  return points.map(({ name, pass }, index) => errorCase(scenario, `${name}:${pass}=${actionAt(index)}`));
}

/**
 * An error at every pass of a point, as when a disk is full and stays so; of those with one pass that is the
 * same as an error there.
 */
export function lastingErrorCases(scenario: Scenario, points: readonly Point[]): Case[] {
  const names = new Set(points.filter(({ pass }) => pass > 1).map(({ name }) => name));
  return [...names].map((name, index) => errorCase(scenario, `${name}=${actionAt(index)}`));
}

function actionAt(index: number): string {
  return ACTIONS[index % ACTIONS.length] as string;
}

function errorCase(scenario: Scenario, failpoints: string): Case {
  return {
    name: `${scenario.name} with ${failpoints}`,
    disturb: async (arranged) => {
      const end = await runDriver(requestOf(scenario, arranged.world), { failpoints });
      assertOrderlyEnd(end, failpoints);
      if (scenario.operation === "apply" && scenario.more?.only === undefined)
        assertTrueReport(end, arranged, failpoints);
    },
  };
}

/** It succeeds, or says why not in words of ours; it never falls over. */
function assertOrderlyEnd(end: DriverEnd, failpoints: string): void {
  assert.equal(end.signal, null, end.stderr);
  assert.ok(end.done !== undefined || end.failed !== undefined, `no outcome: ${end.stderr}`);
  if (end.failed === undefined) return;
  assert.ok(OUR_ERRORS.has(end.failed.name), `an error that is not ours: ${end.failed.stack}`);
  assert.match(
    `${end.failed.message} ${end.failed.cause ?? ""}`,
    /failpoint/,
    `not because of ${failpoints}`,
  );
}

/** What apply says is true at that moment, before anybody recovers anything. */
function assertTrueReport({ done, failed }: DriverEnd, { world, sides }: Arranged, failpoints: string): void {
  const isBeforeApply = /^store\.(?:open|file|folder|migrate|close)/.test(failpoints);
  if (failed !== undefined && isBeforeApply) return;
  if (done !== undefined) {
    assert.equal(done["state"], "applied");
    assert.deepEqual(done["attention"], [], "attention, though nobody interfered");
    assert.equal(world.side(sides, "after apply said that it is done"), "new");
    return;
  }
  assert.equal(failed?.name, "AtomicCommitError", failed?.stack);
  // Only what is decided and can't be finished yet is on its way; that it can't be written down makes no
  // failure of what has landed.
  if (/^The plan is being applied/.test(failed?.message ?? "")) assert.doesNotMatch(failpoints, /^store\./);
  else assert.equal(world.side(sides, `after apply said that nothing landed (${failed?.message})`), "old");
}
