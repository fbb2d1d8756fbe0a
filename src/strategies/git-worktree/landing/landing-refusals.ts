import { SandboxCommitError, SandboxConflictError } from "../../../core/errors/errors.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { isThere } from "../../../system/data/existence.ts";
import { branchName, type Checkout, type Head, underWay } from "../checkout/checkout.ts";
import { targetOf } from "../repository/ref-files.ts";
import type { RefMove } from "./ref-moves.ts";

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

/** The user has checked out another branch since the landing. */
export function headMovedOn(then: string, now: string | undefined): SandboxConflictError {
  const [was, is] = [then, now ?? "nothing"].map((head) => branchName(targetOf(head) ?? "HEAD"));
  const why = `${was} was checked out when the plan landed, and now ${is} is`;
  return new SandboxConflictError([{ path: ".", why }], {
    message: `The landing can't be taken back: ${why}.`,
    hint: "Check the same branch out again.",
  });
}

/** A ref has moved since the landing. */
export function branchMovedOn(
  { ref, from = "", to }: RefMove,
  now: string | undefined,
): SandboxConflictError {
  const place = now === undefined ? "gone" : `at ${now.slice(0, 12)}`;
  const why = `${branchName(ref)} is ${place} and no longer at ${from.slice(0, 12)}, where the plan left it`;
  return new SandboxConflictError([{ path: ".", why }], {
    message: `The landing can't be taken back: ${why}.`,
    hint: `Take it back by a new commit: git revert -m 1 ${from} (if that is no merge: git revert ${to}..${from}).`,
  });
}
