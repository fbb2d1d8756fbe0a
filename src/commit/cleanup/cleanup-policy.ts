import type { CleanupPolicy } from "../../config/settings.ts";
import {
  keepsForeignWork,
  type Participant,
  reversibleIn,
  type TransactionRecord,
} from "../../core/transaction.ts";
import type { StaysBehind } from "../../sandboxes/sandbox-removal.ts";

/** The rules of `sandbox.cleanup`: when sandboxes stay, and what stays in their places. */

/**
 * Whether sandboxes stay after a transaction has landed. Work goes on in those of a plan that stays open.
 */
export function keepsLanded(policy: CleanupPolicy, transaction: TransactionRecord): boolean {
  const { direction, staysIn } = transaction;
  if (policy === "manual" || staysIn === "open") return true;
  // With `on_terminal` the sandboxes of an applied plan stay as long as any of it can be undone.
  if (policy !== "on_terminal") return false;
  return staysIn === "applied" || (direction === "commit" && reversibleIn(transaction).length > 0);
}

/** A plan that is about to be closed. */
export interface ClosingPlan {
  /** All of its sandboxes were made. */
  readonly isWhole: boolean;
  /** Removing one of its sandboxes later would need a password, which is kept no longer than the plan. */
  readonly hasSecrets: boolean;
  /** One of its sandboxes holds something outside of our folders, such as a transaction on a server. */
  readonly holdsTransaction: boolean;
}

/** Whether the sandboxes of a cancelled plan stay until they are purged. */
export function keepsCancelled(policy: CleanupPolicy, plan: ClosingPlan): boolean {
  return policy === "manual" && plan.isWhole && !plan.hasSecrets && !plan.holdsTransaction;
}

/** Whether the sandboxes of an applied plan go with its last undo record. */
export function endsWithUndo(policy: CleanupPolicy): boolean {
  return policy === "on_terminal";
}

/** What stays in the place of a participant's sandbox after its transaction has landed. */
export function staysBehind({ direction }: TransactionRecord, participant: Participant): StaysBehind {
  const { kind, status, isFinal } = participant;
  const canBeUndone = kind !== "irreversible" && isFinal !== true;
  const hasUndoRecord = direction === "commit" && status === "committed" && canBeUndone;
  return hasUndoRecord || keepsForeignWork(participant) ? "undo record" : "nothing";
}
