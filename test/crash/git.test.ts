import { describe, it, type TestContext } from "node:test";
import { runCases } from "./case-run.ts";
import { errorCases } from "./error-cases.ts";
import {
  APART,
  applyFromCheckout,
  cancelAfterKilledGit,
  GIT_SCENARIOS,
  MIXED,
  merge,
  undoAgain,
} from "./git-scenarios.ts";
import { killCases } from "./kill-cases.ts";
import { choosePoints, firstAndLast, IS_LONG, tracePoints } from "./points.ts";
import { recoveryAfter, type Scenario } from "./scenarios.ts";

/** What is tried at other points with other strategies is not tried again; but everything in a long run. */
const OWN = /^git[-.]/;
const LANDING = /^(?:git[-.]|landings|land\.(?:exchange|record))/;
const LOCKS = /^git(?:-|\.(?:merge|make-log|append|flush|name|fetch))/;

describe("a folder and a git checkout in one plan", () => {
  const { apply, undo, rollback, cancel, write, create, checkpoint, restore } = GIT_SCENARIOS;

  async function disturb(
    t: TestContext,
    casesOf: typeof killCases,
    scenario: Scenario,
    points: RegExp,
    options = MIXED,
  ): Promise<void> {
    const passes = await tracePoints(scenario, options);
    // Each pass starts a git or two: beyond a landing itself, the first of each point stands for all.
    const isWhole = IS_LONG || (scenario === apply && casesOf === killCases);
    const chosen = firstAndLast(choosePoints(passes), passes).filter(
      ({ name, pass }) => IS_LONG || (points.test(name) && (isWhole || pass === 1)),
    );
    await runCases(scenario, options, casesOf(scenario, chosen));
    t.diagnostic(`${scenario.name}: ${passes.size} points, ${chosen.length} tried`);
  }

  it("[T2][G1][G2][A3][A7] a crash in apply lands both or neither, and what the user has not committed is as it was", (t) =>
    disturb(t, killCases, apply, LANDING));
  it("[T2][G4][A3] a crash in a merge keeps what was committed meanwhile", (t) =>
    disturb(t, killCases, merge, LOCKS, APART));
  it("[T2][G1] a crash in a landing from the checkout as it was leaves uncommitted files so", (t) =>
    disturb(t, killCases, applyFromCheckout, /^git\.build-index/));
  it("[T2][G5][A3] a crash in undo takes back both or neither", (t) => disturb(t, killCases, undo, OWN));
  it("[G5][A3] so does one in an undo that was tried before", (t) => disturb(t, killCases, undoAgain, /index/));
  it("[G6][C2][L4] a crash in create leaves a whole plan or none", (t) => disturb(t, killCases, create, OWN));
  it("[G1][L4] a crash in rollback leaves the plan open", (t) =>
    disturb(t, killCases, rollback, /^git\.(?:mark|remove|finish)/));
  it("[G6][C2] a crash in cancel leaves the plan as it was, or gone", (t) => disturb(t, killCases, cancel, OWN));
  it("[G6] also after a git was killed", (t) => disturb(t, killCases, cancelAfterKilledGit, OWN));
  it("[G1] a crash in write leaves the plan usable", (t) => disturb(t, killCases, write, /^(?:git|write)/));
  it("[C6] a crash in checkpoint leaves the work as it is", (t) => disturb(t, killCases, checkpoint, OWN));
  it("[C6] a crash in restoreCheckpoint leaves it to be finished", (t) => disturb(t, killCases, restore, OWN));
  for (const point of ["landings.flush-staged:2", "git-lock.move:1"])
    it(`[T2][A3] apply dies at ${point}, and its recovery dies`, (t) =>
      disturb(t, killCases, recoveryAfter(apply, `${point}=kill`), OWN));
  it("[G3][A1][A2] an error in apply is all or nothing, and its report is true", (t) =>
    disturb(t, errorCases, apply, /^git(?:-lock|-landing|\.(?:fetch|merge|commit|flush|undo))/));
  it("[G3][A5] an error in undo is all or nothing", (t) => disturb(t, errorCases, undo, OWN));
  it("[G3][C2] an error in create leaves a whole plan or none", (t) => disturb(t, errorCases, create, OWN));
});
