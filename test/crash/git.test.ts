import { describe, it } from "node:test";
import { itInLongForm } from "../support/long-form.ts";
import { disturb } from "./disturb.ts";
import { errorCases } from "./error-cases.ts";
import {
  APART,
  applyFromCheckout,
  applyWithHooks,
  cancelAfterKilledGit,
  GIT_SCENARIOS,
  giveUpLanded,
  MIXED,
  merge,
  undoAgain,
} from "./git-scenarios.ts";
import { recoveryAfter } from "./scenarios.ts";

/** What is tried at other points with other strategies is not tried again; but everything in a long run. */
const OWN = /^git[-.]/;
const LANDING = /^(?:git[-.]|land\.exchange)/;
/** What an undo does of its own, and where it can still fail. */
const TAKING_BACK = /^git(?:-lock\.(?:take|move)|-landing\.(?:undone|done)$|\.undo)/;
/** Where the branch that moved makes a difference. */
const MERGING = /^git(?:-lock\.(?:create-folder|take|move)|\.(?:merge|make-log|append|flush|name|fetch))/;

describe("a folder and a git checkout in one plan", () => {
  const { apply, undo, rollback, cancel, write, create, checkpoint, restore } = GIT_SCENARIOS;

  it("[T2][G1][G2][A3][A7] a crash in apply lands both or neither, and what the user has not committed is as it was", (t) =>
    disturb(t, apply, MIXED, { at: LANDING }));
  it("[T2][G4][A3] a crash in a merge keeps what was committed meanwhile", (t) =>
    disturb(t, merge, APART, { at: MERGING }));
  it("[T2][G1] a crash in a landing from the checkout as it was leaves uncommitted files so", (t) =>
    disturb(t, applyFromCheckout, MIXED, { at: /^git\.build-index/ }));
  it("[G3][A3] a crash in a landing with hooks tells them once at most, and only of what has landed", (t) =>
    disturb(t, applyWithHooks, MIXED, {
      at: /^git\.(?:run-hook|index-for-hook|write-message)|git-landing\.(?:flush-)?done/,
    }));
  it("[T2][G1] a crash in giving up a landing leaves both as they were, or lets both land", (t) =>
    disturb(t, giveUpLanded, MIXED, { at: /^git(?:-lock\.move|\.undo)/ }));
  it("[T2][G1] so does one in giving it up once more", (t) =>
    disturb(t, recoveryAfter(giveUpLanded, "git.undo-index:1=kill"), MIXED, {
      at: /^git\.remove-index/,
    }));
  it("[T2][G5][A3] a crash in undo takes back both or neither", (t) => disturb(t, undo, MIXED, { at: OWN }));
  itInLongForm("[G5][A3] so does one in an undo that was tried before", (t) =>
    disturb(t, undoAgain, MIXED, { at: /index/ }),
  );
  it("[G6][C2][L4] a crash in create leaves a whole plan or none", (t) =>
    disturb(t, create, MIXED, { at: OWN }));
  it("[G1][L4] a crash in rollback leaves the plan open", (t) =>
    disturb(t, rollback, MIXED, { at: /^git\.(?:mark|remove|finish)/ }));
  it("[G6][C2] a crash in cancel leaves the plan as it was, or gone", (t) =>
    disturb(t, cancel, MIXED, { at: OWN }));
  it("[G6] also after a git was killed", (t) => disturb(t, cancelAfterKilledGit, MIXED, { at: OWN }));
  it("[G1] a crash in write leaves the plan usable", (t) =>
    disturb(t, write, MIXED, { at: /^(?:git|write)/ }));
  it("[C6] a crash in checkpoint leaves the work as it is", (t) =>
    disturb(t, checkpoint, MIXED, { at: OWN }));
  it("[C6] a crash in restoreCheckpoint leaves it to be finished", (t) =>
    disturb(t, restore, MIXED, { at: OWN }));
  // The objects are fetched while the files are staged; by then both are done.
  for (const point of ["git-landing.record:1", "git-lock.move:1"])
    itInLongForm(`[T2][A3] apply dies at ${point}, and its recovery dies`, (t) =>
      disturb(t, recoveryAfter(apply, `${point}=kill`), MIXED, { at: OWN }),
    );
  it("[G3][A1][A2] an error in apply is all or nothing, and its report is true", (t) =>
    disturb(t, apply, MIXED, {
      at: /^git(?:-lock|-landing|\.(?:fetch|merge|commit|flush|undo))/,
      by: errorCases,
      some: 2,
    }));
  itInLongForm("[G3][A5] an error in undo is all or nothing", (t) =>
    disturb(t, undo, MIXED, { at: TAKING_BACK, by: errorCases }),
  );
  itInLongForm("[G3][C2] an error in create leaves a whole plan or none", (t) =>
    disturb(t, create, MIXED, { at: /^git\.(?:create-folder|check-out|finish)/, by: errorCases }),
  );
});
