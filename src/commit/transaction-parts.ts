import { type Conflict, messageOf, SandboxConflictError } from "../core/errors/errors.ts";
import type { Transaction } from "../core/strategy.ts";
import type { Participant, TransactionRecord } from "../core/transaction.ts";
import type { EventDetails } from "../core/values/plan-events.ts";

export function participantAt(record: TransactionRecord, index: number): Participant {
  const participant = record.participants[index];
  if (participant === undefined) throw new Error(`Transaction ${record.id} has no participant ${index}.`);
  return participant;
}

/** The transaction as a strategy sees it. */
export function transactionFor(record: TransactionRecord, index: number): Transaction {
  const { undoes, only, exactly, allow, protect } = participantAt(record, index);
  return {
    id: record.id,
    planId: record.planId,
    direction: record.direction,
    ...(record.message !== undefined && { message: record.message }),
    ...(record.squash === true && { squash: true }),
    ...(record.afterRestart === true && { afterRestart: true }),
    ...(only !== undefined && { only }),
    ...(exactly !== undefined && { exactly }),
    ...(allow !== undefined && { allow }),
    ...(protect !== undefined && { protect }),
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

/** Events that end a transaction. */
type LandedEvent = "applied" | "part applied" | "undone" | "part undone" | "last landing undone";

/** The event that the plan's history has for a transaction that has landed. */
export function landedAs({ direction, staysIn }: TransactionRecord): LandedEvent {
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

function landedCount({ participants }: TransactionRecord): { readonly changes?: number } {
  const landed = participants.filter(({ status }) => status === "committed");
  return landed.length === 0 ? {} : { changes: landed.reduce((sum, { changes = 0 }) => sum + changes, 0) };
}

/** The details of an event that ends a transaction. */
export function historyDetails(record: TransactionRecord): EventDetails["not applied"] {
  return {
    transaction: record.id,
    ...(record.message !== undefined && { message: record.message }),
    ...chosenPaths(record),
    ...landedCount(record),
    ...(record.leaves !== undefined && { leaves: record.leaves.map(({ resource }) => resource) }),
    ...(record.failure !== undefined && { failure: record.failure.report.message }),
  };
}

/** What a person has to look at in a transaction, as an event; undefined if that is nothing. */
export function attentionIn(record: TransactionRecord): EventDetails["needs attention"] | undefined {
  const { id: transaction, phase, participants } = record;
  if (phase === "in-doubt") {
    const started = participants.filter(
      ({ kind, status }) => kind === "irreversible" && status === "started",
    );
    const message = "it is unknown whether it landed";
    return {
      transaction,
      why: "in doubt",
      resources: started.map(({ resource }) => ({ resource, message })),
    };
  }
  const kept = participants.filter(({ status }) => status === "not-undone");
  if (phase === "aborted" && kept.length > 0) {
    const resources = kept.map(({ resource, message = "it could not be taken back" }) => ({
      resource,
      message,
    }));
    return { transaction, why: "not undone", resources };
  }
  const met = participants.flatMap(({ resource, attention = [] }) =>
    attention.map((item) => ({ resource, ...item })),
  );
  return met.length === 0 ? undefined : { transaction, why: "landed", resources: met };
}
