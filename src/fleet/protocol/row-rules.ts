import { advance, type CommitEvent } from "../../core/commit-machine.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import type { Decision, TransactionRow } from "./transaction-row.ts";

/** How the record of the commit machine and the rows of the database go together. The rows are right. */

/** The decision that has to be in the database before the record may go from the one to the other. */
export function decisionBetween(from: TransactionRecord, to: TransactionRecord): Decision | undefined {
  if (from.phase !== "preparing" && from.phase !== "in-doubt") return undefined;
  if (to.phase === "landing") return "land";
  return to.phase === "aborting" ? "give-up" : undefined;
}

/**
 * The record as the rows say it has to be. A coordinator writes the decision to land only after it has saved
 * that all are prepared, so whoever reads that decision finds what is needed to land.
 */
export function asRowsSay({ record, decision, givenUp }: Omit<TransactionRow, "version" | "driver">) {
  if (record.phase === "in-doubt" && decision !== undefined)
    return advance(record, { was: "settled", how: decision === "land" ? "commit" : "abort" });
  if (record.phase === "preparing" && decision === "land") return advance(record, { was: "decided" });
  if (record.phase === "preparing" && decision === "give-up") return advance(record, givenUpBefore);
  if (record.phase === "landing" && givenUp === true)
    return advance(record, { was: "settled", how: "abort" });
  return record;
}

const givenUpBefore: CommitEvent = {
  was: "failed",
  report: { resource: "", message: "it was given up before the decision" },
  conflicts: [],
};
