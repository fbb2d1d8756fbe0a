import type { Note } from "./note.ts";
import { isGivenUp, isOver, type TransactionRow } from "./transaction-row.ts";

/**
 * What a host does by itself about what it has noted, when it starts and every few seconds. A host that was
 * only slow never "comes back": nobody would tell it that a transaction was given up meanwhile. It holds the
 * lock of the original from before the look.
 */
export type Upkeep =
  /** Takes it back, as the call would, and notes that. */
  | "take-back"
  /** Notes that the original is free. */
  | "release"
  /** Removes the note: no call of this work can still do anything. */
  | "forget"
  | "nothing";

export function upkeepOf(
  note: Note,
  look: { readonly now: number; readonly row: TransactionRow | undefined },
): Upkeep {
  if (look.row !== undefined && isGivenUp(look.row) && !note.isReleased && isToBeTakenBack(note))
    return "take-back";
  if (!note.isReleased) return isOver(look.row) ? "release" : "nothing";
  // A later call finds that its transaction is over, or that its operation holds nothing.
  return isOver(look.row) && look.now > note.lastDeadline ? "forget" : "nothing";
}

function isToBeTakenBack({ kind, state }: Note): boolean {
  if (kind !== "two-phase" && kind !== "reversible") return false;
  return state !== "new" && state !== "taken-back" && state !== "never-ran";
}
