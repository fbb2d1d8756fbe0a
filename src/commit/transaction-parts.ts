import { type Conflict, messageOf, SandboxConflictError } from "../core/errors.ts";
import type { Transaction } from "../core/strategy.ts";
import type { Participant, TransactionRecord } from "../core/transaction.ts";

/** What is taken out of the record of a transaction for those who take part in it. */
export function participantAt(record: TransactionRecord, index: number): Participant {
  const participant = record.participants[index];
  if (participant === undefined) throw new Error(`Transaction ${record.id} has no participant ${index}.`);
  return participant;
}

/** The transaction as a strategy gets to know it. */
export function transactionFor(record: TransactionRecord, index: number): Transaction {
  const { undoes } = participantAt(record, index);
  return {
    id: record.id,
    planId: record.planId,
    direction: record.direction,
    ...(record.message !== undefined && { message: record.message }),
    ...(record.afterRestart === true && { afterRestart: true }),
    ...(record.undoes !== undefined && undoes !== undefined && { undoes: { id: record.undoes, prepared: undoes } }),
  };
}

/** What is said of a failure, with the conflicts that it is about. */
export function reportOf(record: TransactionRecord, index: number | undefined, thrown: unknown) {
  const resource = index === undefined ? "" : participantAt(record, index).resource;
  const found = thrown instanceof SandboxConflictError ? thrown.conflicts : [];
  const conflicts: Conflict[] = found.map((conflict) => ({ ...conflict, resource }));
  return { report: { resource, message: messageOf(thrown) }, conflicts };
}
