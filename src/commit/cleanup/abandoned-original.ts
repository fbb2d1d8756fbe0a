import type { Participant, TransactionRecord } from "../../core/transaction.ts";

/** The part of an abandoned plan that is in the original of a resource. */
export type AbandonedOriginal = {
  /** Nothing of the plan is in it, all of it, or an unknown part. */
  readonly original: "untouched" | "landed" | "unknown";
  readonly message: string;
};

/** Also says whether a transaction holds its sandbox, which then may have the only copy of something. */
export type Verdict = AbandonedOriginal & { readonly isHeld: boolean };

const UNTOUCHED: Verdict = { original: "untouched", message: "nothing of the plan is in it", isHeld: false };
const LANDED: Verdict = {
  original: "landed",
  message: "what the plan changes in it has landed",
  isHeld: false,
};
const IN_PLACE: Verdict = {
  original: "landed",
  message: "it was worked on in place, so what was done to it stays",
  isHeld: false,
};

/** What the journal knows about an original. An original outside the unfinished transaction is as before. */
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
      return held("unknown", "its commit had begun, and it is unknown how far it came");
    case "not-undone":
      return held("unknown", participant.message ?? "it could not be taken back");
    case "prepared":
      return isDecided
        ? held(
            "unknown",
            "it was landing, and it is unknown how far it came; what it had before may be among the leftovers",
          )
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
  if (status === "committed")
    return { ...UNTOUCHED, message: "it is again as it was before the plan", isHeld: true };
  if (status === "prepared" && phase === "landing")
    return held("unknown", "it was being taken back, and it is unknown how far that came");
  return { ...LANDED, isHeld: true };
}

function held(original: AbandonedOriginal["original"], message: string): Verdict {
  return { original, message, isHeld: true };
}
