import { SandboxCommitError, SandboxConflictError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { isThere } from "../../../system/data/existence.ts";
import { branchName, type Checkout, type Head, underWay } from "../checkout/checkout.ts";
import type { GitLanding } from "./landing-record.ts";

/** The reasons to refuse a landing or an undo before it begins. */
export function assertThere({ gitDir }: Checkout): void {
  if (isThere(gitDir)) return;
  throw new SandboxCommitError(`The repository ${displayPath(gitDir)} is gone.`, {
    hint: "Bring it back, or cancel the plan.",
  });
}

export function assertNothingUnderWay({ gitDir, root }: Checkout): void {
  const busy = underWay(gitDir);
  if (busy === undefined) return;
  throw new SandboxCommitError(`${displayPath(root)} is in the middle of ${busy}.`, {
    hint: "Finish it, or abort it, and try again.",
    code: "UNDER_WAY",
  });
}

/** The user has checked out another branch than the one that the sandbox began with. */
export function branchSwitched(ref: string, now: Head): SandboxConflictError {
  const why = `${branchName(ref)} was checked out when the sandbox was made, and now ${branchName(now.ref)} is`;
  return new SandboxConflictError([{ path: ".", why }], {
    message: `The original changed meanwhile: ${why}.`,
    hint: "Check the same branch out again, or make a new plan.",
  });
}

/** The branch has moved since the landing. */
export function branchMovedOn({ ref, from, to }: GitLanding, now: Head): SandboxConflictError {
  const why = `${branchName(ref)} is at ${now.commit.slice(0, 12)} and no longer at ${to.slice(0, 12)}, where the plan left it`;
  return new SandboxConflictError([{ path: ".", why }], {
    message: `The landing can't be taken back: ${why}.`,
    hint: `Take it back by a new commit: git revert -m 1 ${to} (if that is no merge: git revert ${from}..${to}).`,
  });
}
