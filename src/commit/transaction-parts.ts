import { type Conflict, messageOf, SandboxConflictError } from "../core/errors/errors.ts";
import type { Transaction } from "../core/strategy.ts";
import type { Participant, TransactionRecord } from "../core/transaction.ts";
import type { HistoryEntry } from "../store/store.ts";

export function participantAt(record: TransactionRecord, index: number): Participant {
  const participant = record.participants[index];
  if (participant === undefined) throw new Error(`Transaction ${record.id} has no participant ${index}.`);
  return participant;
}

/** The transaction as a strategy sees it. */
export function transactionFor(record: TransactionRecord, index: number): Transaction {
  const { undoes, only, allow } = participantAt(record, index);
  return {
    id: record.id,
    planId: record.planId,
    direction: record.direction,
    ...(record.message !== undefined && { message: record.message }),
    ...(record.afterRestart === true && { afterRestart: true }),
    ...(only !== undefined && { only }),
    ...(allow !== undefined && { allow }),
    ...(record.undoes !== undefined &&
      undoes !== undefined && { undoes: { id: record.undoes, prepared: undoes } }),
  };
}

/** The report of a failure, with its conflicts. */
export function reportOf(record: TransactionRecord, index: number | undefined, thrown: unknown) {
  const resource = index === undefined ? "" : participantAt(record, index).resource;
  const found = thrown instanceof SandboxConflictError ? thrown.conflicts : [];
  const conflicts: Conflict[] = found.map((conflict) => ({ ...conflict, resource }));
  return { report: { resource, message: messageOf(thrown) }, conflicts };
}

/** The event that the plan's history has for a transaction that has landed. */
export function landedAs({ direction, staysIn }: TransactionRecord): string {
  if (staysIn === "open") return direction === "commit" ? "part applied" : "part undone";
  if (staysIn === "applied") return "last landing undone";
  return direction === "commit" ? "applied" : "undone";
}

function chosenPaths({ participants }: TransactionRecord): { readonly only?: readonly string[] } {
  const chosen = participants.flatMap(({ resource, only }) =>
    (only ?? []).map((path) => `${resource}:${path}`),
  );
  return chosen.length === 0 ? {} : { only: chosen };
}

/** The details of an event that ends a transaction. */
export function historyDetails(record: TransactionRecord): HistoryEntry["details"] {
  return {
    transaction: record.id,
    ...(record.message !== undefined && { message: record.message }),
    ...chosenPaths(record),
    ...(record.failure !== undefined && { failure: record.failure.report.message }),
  };
}
