import type { Conflict, ParticipantReport } from "./errors/errors.ts";
import type { Attention, PreparedCommit } from "./strategy.ts";
import type { Participant, ParticipantStatus, TransactionRecord } from "./transaction.ts";

/**
 * The atomic commit as a pure machine: it says what to do next, is told what came of it, and does nothing
 * itself. One driver (commit/coordinator.ts) runs it for a new commit and, after a crash, from the record in
 * the journal.
 *
 * Presumed abort. Until `decide` is done, any failure, a crash included, takes everything back. From then on
 * everything is finished, however often that takes. The driver saves the record before each effect that
 * depends on it, in this order:
 *
 *   1. begin (durable)
 *   2. prepare, one participant after the other
 *   3. start-reversible (durable) and commit-reversible, one participant after the other
 *   4. start-irreversible (durable) and commit-irreversible, of at most one participant
 *   5. decide (durable)
 *   6. land, all that are prepared
 *   7. finish (durable, unless what landed stays as the undo record and can land again)
 *   8. clean
 *
 * A failure is durable too once an irreversible commit has started: a process that finds only the start would
 * be in doubt.
 *
 * An effect with `index` is about one participant, and what follows depends on how it ends. An effect with
 * `indexes` is a batch: the driver does all of it, in this order, and reports each participant by an event of
 * its own. One that fails stays in the next batch and stops no other.
 */
export type Effect =
  /** Calls prepare of a two-phase participant. */
  | { readonly do: "prepare"; readonly index: number }
  /** Makes a one-phase participant with undo restorable, and records that its commit starts. */
  | { readonly do: "start-reversible"; readonly index: number }
  | { readonly do: "commit-reversible"; readonly index: number }
  /** Records, durably, that the commit which can't be taken back starts. */
  | { readonly do: "start-irreversible"; readonly index: number }
  | { readonly do: "commit-irreversible"; readonly index: number }
  /** Records the decision, durably. This is the instant of commit. */
  | { readonly do: "decide" }
  /** Calls commitPrepared. */
  | { readonly do: "land"; readonly indexes: readonly number[] }
  /** Records that all has landed. */
  | { readonly do: "finish" }
  /** Removes what is no longer needed, then records the end. */
  | { readonly do: "clean" }
  /** Takes participants back: rollbackPrepared, or rollback and restore. */
  | { readonly do: "take-back"; readonly indexes: readonly number[] }
  /** Records that everything that can be taken back has been. */
  | { readonly do: "abort" };

export type CommitEvent =
  | { readonly was: "prepared"; readonly index: number; readonly prepared: PreparedCommit | null }
  | { readonly was: "started"; readonly index: number }
  /** A commit that was to start has not begun, and never will: whoever was to run it says so. */
  | { readonly was: "not-begun"; readonly index: number }
  | {
      readonly was: "committed";
      readonly index: number;
      readonly changes: number;
      readonly attention: readonly Attention[];
    }
  | { readonly was: "decided" }
  | { readonly was: "finished"; readonly at: string }
  | { readonly was: "cleaned" }
  | { readonly was: "taken-back"; readonly index: number; readonly attention: readonly Attention[] }
  | { readonly was: "not-taken-back"; readonly index: number; readonly message: string }
  | { readonly was: "aborted"; readonly at: string }
  /** Something went wrong before the decision, or the user interrupted. */
  | {
      readonly was: "failed";
      readonly report: ParticipantReport;
      readonly conflicts: readonly Conflict[];
      readonly index?: number;
    }
  /** Another process takes over after a crash. */
  | { readonly was: "recovered" }
  /** A person settled what was in doubt, or gave up a landing that can't finish. */
  | { readonly was: "settled"; readonly how: "commit" | "abort" }
  /**
   * A person ended the transaction as it is. Its effects so far stay; `whys` has a sentence for each
   * participant that stays so.
   */
  | { readonly was: "abandoned"; readonly at: string; readonly whys: ReadonlyMap<number, string> };

/** The next effect; undefined when the transaction is over, or when only a person can go on. */
export function nextEffect(record: TransactionRecord): Effect | undefined {
  switch (record.phase) {
    case "preparing":
      return nextBeforeDecision(record.participants);
    case "landing": {
      const indexes = indexesOf(record, ({ status }) => status === "prepared");
      return indexes.length > 0 ? { do: "land", indexes } : { do: "finish" };
    }
    case "landed":
      return { do: "clean" };
    case "aborting": {
      // The reverse of the order in which they prepared and committed.
      const indexes = indexesOf(record, isToBeTakenBack).reverse();
      return indexes.length > 0 ? { do: "take-back", indexes } : { do: "abort" };
    }
    case "in-doubt":
    case "done":
    case "aborted":
      return undefined;
  }
}

/**
 * The record after this event. Throws on an event that can't happen now, which is a defect of the driver.
 */
export function advance(record: TransactionRecord, event: CommitEvent): TransactionRecord {
  switch (event.was) {
    case "prepared":
      expectPhase(record, event, "preparing");
      return withParticipant(
        record,
        event.index,
        event.prepared === null
          ? { status: "unchanged", changes: 0 }
          : { status: "prepared", prepared: event.prepared },
      );
    case "started":
      expectPhase(record, event, "preparing");
      return withParticipant(record, event.index, { status: "started" });
    case "not-begun":
      expectPhase(record, event, "preparing");
      return withParticipant(record, event.index, { status: "waiting" });
    case "committed":
      expectPhase(record, event, "preparing", "landing");
      return withParticipant(record, event.index, {
        status: "committed",
        changes: event.changes,
        attention: event.attention,
      });
    case "decided":
      expectPhase(record, event, "preparing");
      return { ...record, phase: "landing" };
    case "finished":
      expectPhase(record, event, "landing");
      return { ...record, phase: "landed", finishedAt: event.at };
    case "cleaned":
      expectPhase(record, event, "landed");
      return { ...record, phase: "done" };
    case "failed":
      expectPhase(record, event, "preparing");
      return failed(record, event);
    case "taken-back":
      expectPhase(record, event, "aborting");
      return withParticipant(record, event.index, { status: "undone", attention: event.attention });
    case "not-taken-back":
      expectPhase(record, event, "aborting");
      return withParticipant(record, event.index, { status: "not-undone", message: event.message });
    case "aborted":
      expectPhase(record, event, "aborting");
      return { ...record, phase: "aborted", finishedAt: event.at };
    case "recovered":
      return recovered(record);
    case "settled":
      expectPhase(record, event, "in-doubt", "landing");
      return settled(record, event.how);
    case "abandoned":
      expectPhase(record, event, "preparing", "landing", "landed", "aborting", "in-doubt");
      return abandoned(record, event);
  }
}

function indexesOf(
  { participants }: TransactionRecord,
  isMeant: (participant: Participant) => boolean,
): number[] {
  return participants.flatMap((participant, index) => (isMeant(participant) ? [index] : []));
}

function nextBeforeDecision(participants: readonly Participant[]): Effect {
  const index = participants.findIndex(
    ({ kind, status }) => kind !== "in-place" && (status === "waiting" || status === "started"),
  );
  const participant = participants[index];
  if (participant === undefined) return { do: "decide" };
  if (participant.kind === "two-phase") return { do: "prepare", index };
  if (participant.kind === "reversible")
    return { do: participant.status === "started" ? "commit-reversible" : "start-reversible", index };
  return { do: participant.status === "started" ? "commit-irreversible" : "start-irreversible", index };
}

/**
 * A prepare that did not return may have begun, so `waiting` is taken back too. If it never began, the
 * strategy finds nothing to take back.
 */
function isToBeTakenBack({ kind, status }: Participant): boolean {
  if (kind === "two-phase") return status === "waiting" || status === "prepared" || status === "unchanged";
  if (kind === "reversible") return status === "started" || status === "committed";
  return false;
}

function failed(record: TransactionRecord, event: CommitEvent & { was: "failed" }): TransactionRecord {
  const failure = { report: event.report, conflicts: event.conflicts };
  const participants = record.participants.map((participant) => {
    if (participant.kind === "in-place")
      return {
        ...participant,
        status: "not-undone" as const,
        message: "it is worked on in place, so its changes stay",
      };
    if (
      participant.kind !== "irreversible" ||
      participant.status === "waiting" ||
      participant.status === "unchanged"
    )
      return participant;
    return {
      ...participant,
      status: "not-undone" as const,
      message: "its commit can't be taken back and may have happened, wholly or in part",
    };
  });
  return { ...record, phase: "aborting", failure, participants };
}

/** Only a started irreversible commit leaves a doubt; everything else follows from the record. */
function recovered(record: TransactionRecord): TransactionRecord {
  if (record.phase !== "preparing") return record;
  const irreversible = record.participants.find(({ kind }) => kind === "irreversible");
  if (irreversible?.status === "started") return { ...record, phase: "in-doubt" };
  // It goes last: once it has happened, all others are prepared, and the transaction can only go on.
  if (irreversible?.status === "committed") return record;
  return failed(record, {
    was: "failed",
    report: { resource: "", message: "the process died before the decision" },
    conflicts: [],
  });
}

function settled(record: TransactionRecord, how: "commit" | "abort"): TransactionRecord {
  if (how === "abort") {
    // A participant that has landed is taken back like one that was only prepared.
    const prepared = record.participants.map((participant) =>
      participant.kind === "two-phase" && participant.status === "committed"
        ? { ...participant, status: "prepared" as const }
        : participant,
    );
    const givenUp = record.phase === "landing" && { givenUp: true as const };
    return failed(
      { ...record, ...givenUp, phase: "preparing", participants: prepared },
      { was: "failed", report: { resource: "", message: "settled by hand" }, conflicts: [] },
    );
  }
  const participants = record.participants.map((participant) =>
    participant.kind === "irreversible"
      ? { ...participant, status: "committed" as ParticipantStatus, changes: participant.changes ?? 0 }
      : participant,
  );
  return { ...record, phase: "landing", participants };
}

/** A transaction that has landed as a whole is over; only its cleanup is missing. */
function abandoned(
  record: TransactionRecord,
  { at, whys }: CommitEvent & { was: "abandoned" },
): TransactionRecord {
  if (record.phase === "landed") return { ...record, phase: "done" };
  const participants = record.participants.map((participant, index) => {
    const message = whys.get(index);
    return message === undefined ? participant : { ...participant, status: "not-undone" as const, message };
  });
  return { ...record, phase: "aborted", finishedAt: at, participants };
}

function withParticipant(
  record: TransactionRecord,
  index: number,
  change: Partial<Participant>,
): TransactionRecord {
  return {
    ...record,
    participants: record.participants.map((participant, at) =>
      at === index ? { ...participant, ...change } : participant,
    ),
  };
}

function expectPhase(
  record: TransactionRecord,
  event: CommitEvent,
  ...phases: readonly TransactionRecord["phase"][]
): void {
  if (!phases.includes(record.phase))
    throw new Error(`Transaction ${record.id} is ${record.phase}: '${event.was}' can't happen now.`);
}
