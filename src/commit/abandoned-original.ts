import type { Participant, TransactionRecord } from "../core/transaction.ts";

/** What is to be said of the original of a resource whose plan was ended. */
export type AbandonedOriginal = {
  /** Whether anything of the plan is in it: nothing, all of it, or nobody knows how much. */
  readonly original: "untouched" | "landed" | "unknown";
  readonly message: string;
};

/** And whether a transaction holds its sandbox: what that has may be the only copy of something. */
export type Verdict = AbandonedOriginal & { readonly isHeld: boolean };

const UNTOUCHED: Verdict = { original: "untouched", message: "nothing of the plan is in it", isHeld: false };
const LANDED: Verdict = { original: "landed", message: "what the plan changes in it has landed", isHeld: false };
const IN_PLACE: Verdict = {
  original: "landed",
  message: "it was worked on in place, so what was done to it stays",
  isHeld: false,
};

/** What the journal knows of it; a participant that is not in the unfinished transaction, if there is one, is as before. */
export function originalOf(
  transaction: TransactionRecord | undefined,
  participant: Participant | undefined,
  isInPlace: boolean,
): Verdict {
  if (isInPlace || participant?.kind === "in-place") return IN_PLACE;
  if (transaction === undefined || participant === undefined) return UNTOUCHED;
  if (transaction.direction === "undo") return ofUndo(transaction, participant);
  const isDecided = transaction.phase === "landing" || transaction.givenUp === true;
  switch (participant.status) {
    case "committed":
      return { ...LANDED, isHeld: transaction.phase !== "landed" };
    case "started":
      return held("unknown", "its commit had begun, and nobody knows how far it came");
    case "not-undone":
      return held("unknown", participant.message ?? "it could not be taken back");
    case "prepared":
      return isDecided
        ? held("unknown", "it was landing, and nobody knows how far it came; what it had before may be in what is left")
        : held("untouched", "nothing of the plan is in it; what was made ready to land was not taken back");
    case "waiting":
      return transaction.phase === "aborting" && participant.kind === "two-phase"
        ? held("untouched", "nothing of the plan is in it; what was made ready to land was not taken back")
        : UNTOUCHED;
    case "unchanged":
    case "undone":
      return UNTOUCHED;
  }
}

function ofUndo({ phase }: TransactionRecord, { status }: Participant): Verdict {
  if (status === "committed") return { ...UNTOUCHED, message: "it is again as it was before the plan", isHeld: true };
  if (status === "prepared" && phase === "landing")
    return held("unknown", "it was being taken back, and nobody knows how far that came");
  return { ...LANDED, isHeld: true };
}

function held(original: AbandonedOriginal["original"], message: string): Verdict {
  return { original, message, isHeld: true };
}
