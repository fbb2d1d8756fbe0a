import { describe, it } from "node:test";
import { itInLongForm } from "../support/long-form.ts";
import { disturb } from "./disturb.ts";
import { errorCases } from "./error-cases.ts";
import { giveUpLanded, IN_PLACE } from "./git-scenarios.ts";
import { apply, create, recoveryAfter, rollback, undo } from "./scenarios.ts";

/**
 * Where it makes a difference that the checkout lands at its own path: git.test.ts tries the other points
 * with a worktree. Everything in a long run.
 */
const OWN =
  /^git(?:-checkout|-landing\.(?:record|done)$|-lock\.(?:take|move|remove)|\.(?:pack|replace|append|fetch))/;
const LANDING = /^git(?:-checkout|-lock\.(?:move|remove|release)|-landing\.done|\.(?:pack|replace|append))/;
/** Of the points that a worktree passes too, one. */
const SHARED = { own: /^git(?:-checkout|-lock\.remove|\.(?:pack|replace))/, some: 1 };
const skip = process.geteuid?.() === 0 ? false : "only root has a path to the sandbox";

describe("a folder and a git checkout at its own path in one plan", { skip }, () => {
  it("[T2][G8][A3][A7] a crash in apply lands both or neither", (t) =>
    disturb(t, apply, IN_PLACE, {
      at: OWN,
      ...SHARED,
    }));
  it("[T2][G8][G5][A3] a crash in undo takes back both or neither", (t) =>
    disturb(t, undo, IN_PLACE, { at: LANDING, ...SHARED }));
  it("[T2][G8] a crash in giving up a landing leaves both as they were, or lets both land", (t) =>
    disturb(t, giveUpLanded, IN_PLACE, { at: /^git(?:-lock\.(?:move|remove)|\.(?:pack|replace))/ }));
  it("[G8][C2][L4] a crash in create leaves a whole plan or none", (t) =>
    disturb(t, create, IN_PLACE, { at: /^git-checkout/ }));
  it("[G8][L4] a crash in rollback leaves the plan open", (t) =>
    disturb(t, rollback, IN_PLACE, { at: /^git/, ...SHARED }));
  itInLongForm("[T2][G8][A3] apply dies while refs move, and its recovery dies", (t) =>
    disturb(t, recoveryAfter(apply, "git-lock.move:2=kill"), IN_PLACE, { at: /^git-lock\.(?:move|remove)/ }),
  );
  itInLongForm("[G3][A1][A2] an error in apply is all or nothing, and its report is true", (t) =>
    disturb(t, apply, IN_PLACE, {
      at: /^git(?:-checkout|-lock\.(?:take|move|remove)|\.(?:pack|replace|fetch))/,
      by: errorCases,
      some: 3,
    }),
  );
});
