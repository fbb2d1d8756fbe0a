import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { fastFolder } from "../support/fast-folder.ts";
import { runCases } from "./case-run.ts";
import { errorCases } from "./error-cases.ts";
import { killCases } from "./kill-cases.ts";
import { choosePoints, firstAndLast, IS_LONG, tracePoints } from "./points.ts";
import { checkpoint, restore } from "./sandbox-scenarios.ts";
import {
  apply,
  applyAndUndo,
  assertNothingLeft,
  cancel,
  create,
  recoveryAfter,
  rollback,
  type Scenario,
  undo,
  write,
} from "./scenarios.ts";
import { PLAN, type WorldOptions } from "./world.ts";

/** A folder and a checkout whose user is at work in it, in one plan. */
const MIXED: WorldOptions = {
  strategy: ["filesystem_copy", "git_worktree"],
  isSmall: true,
  places: [{ folder: fastFolder() }, { folder: fastFolder(), isCheckout: true }],
};
/** What is tried at other points with other strategies is not tried again; but everything in a long run. */
const OWN = /^git\./;
const LANDING = /^(?:git|landings|land\.(?:exchange|record|remove))/;

/** A worktree begins with what is committed, which is not what a checkout with somebody at work looks like. */
const createWorktree: Scenario = {
  ...create,
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in create"), "old");
    const [plan] = await world.with(({ plans }) => plans.list({ all: true }));
    if (plan === undefined || plan.state === "cancelled") return await assertNothingLeft(world);
    await world.with(async ({ plans }) => {
      assert.deepEqual((await plans.diff(PLAN)).changes, []);
      await world.work(plans);
    });
    await applyAndUndo(world, sides);
  },
};

/** The same for what is saved: whether it is there again is what the diff says. */
function byDiff(scenario: Scenario): Scenario {
  return {
    ...scenario,
    arrange: async (world) => {
      await scenario.arrange(world);
      return "";
    },
    verify: async ({ world, sides }) => {
      assert.equal(world.side(sides, `after a crash in ${scenario.name}`), "old");
      await world.with(async ({ plans }) => {
        await plans.diff(PLAN);
        await plans.cancel(PLAN);
      });
      await assertNothingLeft(world);
    },
  };
}

describe("a folder and a git checkout in one plan", () => {
  async function disturb(
    t: TestContext,
    casesOf: typeof killCases,
    scenario: Scenario,
    points: RegExp,
    options = MIXED,
  ): Promise<void> {
    const passes = await tracePoints(scenario, options);
    // What an error leads to hardly depends on what went well before.
    const tried =
      casesOf === errorCases && !IS_LONG ? [...passes.keys()].map((name) => ({ name, pass: 1 })) : undefined;
    const chosen = (tried ?? firstAndLast(choosePoints(passes), passes)).filter(
      ({ name }) => IS_LONG || points.test(name),
    );
    await runCases(scenario, options, casesOf(scenario, chosen));
    t.diagnostic(`${scenario.name}: ${passes.size} points, ${chosen.length} tried`);
  }

  it("[T2][G1][G2][A3][A7] a crash in apply lands both or neither, and what the user has not committed is as it was", (t) =>
    disturb(t, killCases, apply, LANDING));
  it("[T2][G5][A3] a crash in undo takes back both or neither", (t) =>
    disturb(t, killCases, undo, /^(?:git|land|landings)\./));
  it("[G6][C2][L4] a crash in create leaves a whole plan or none", (t) => disturb(t, killCases, createWorktree, OWN));
  it("[G1][L4] a crash in rollback leaves the plan open", (t) => disturb(t, killCases, rollback, OWN));
  it("[G6][C2] a crash in cancel leaves the plan as it was, or gone", (t) => disturb(t, killCases, cancel, OWN));
  it("[G1] a crash in write leaves the plan usable", (t) => disturb(t, killCases, write, /^(?:git|write)\./));
  it("[C6] a crash in checkpoint leaves the work as it is", (t) => disturb(t, killCases, byDiff(checkpoint), OWN));
  it("[C6] a crash in restoreCheckpoint leaves it to be finished", (t) => disturb(t, killCases, byDiff(restore), OWN));
  for (const point of ["landings.flush-staged:2", "land.exchange:1", "landings.flush-landed:2"])
    it(`[T2][A3] apply dies at ${point}, and its recovery dies`, (t) =>
      disturb(t, killCases, recoveryAfter(apply, `${point}=kill`), OWN));
  it("[G3][A1][A2] an error in apply is all or nothing, and its report is true", (t) =>
    disturb(t, errorCases, apply, OWN));
  it("[G3][A5] an error in undo is all or nothing", (t) => disturb(t, errorCases, undo, OWN));
  it("[G3][C2] an error in create leaves a whole plan or none", (t) => disturb(t, errorCases, createWorktree, OWN));
});
