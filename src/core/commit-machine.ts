import type { Conflict, ParticipantReport } from "./errors.ts";
import type { Attention, PreparedCommit } from "./strategy.ts";
import type { Participant, ParticipantStatus, TransactionRecord } from "./transaction.ts";

/**
 * The atomic commit as a pure machine: it says what to do next, is told what came of it, and never does anything itself. One driver
 * (commit/coordinator.ts) runs it for a new commit and, after a crash, from the record in the journal.
 *
 * Presumed abort: until `decide` is done, anything that goes wrong, a crash included, takes everything back; from then on everything is
 * finished, however often that takes. The record is saved before each effect that depends on it; `durable` says which saves
 * must be on disk before going on:
 *   begin → prepare … → commit-reversible … → start-irreversible* → commit-irreversible → decide* → land … → finish → clean
 *                                  (* durable, and so are begin, and finish where what was landed from does not stay as the undo record)
 * A failure is durable too once something that can't be taken back has started: whoever finds only the start would be in doubt.
 */
export type Effect =
  /** Call prepare of a two-phase participant. */
  | { readonly do: "prepare"; readonly index: number }
  /** Make a one-phase participant with undo restorable, and record that its commit starts. */
  | { readonly do: "start-reversible"; readonly index: number }
  | { readonly do: "commit-reversible"; readonly index: number }
  /** Record, durably, that the one that can't be taken back starts. */
  | { readonly do: "start-irreversible"; readonly index: number }
  | { readonly do: "commit-irreversible"; readonly index: number }
  /** Record the decision, durably. This is the instant of commit. */
  | { readonly do: "decide" }
  /** Call commitPrepared. */
  | { readonly do: "land"; readonly index: number }
  /** Record, durably, that all has landed. */
  | { readonly do: "finish" }
  /** Remove what is no longer needed, then record the end. */
  | { readonly do: "clean" }
  /** Take one participant back: rollbackPrepared, or rollback and restore. The driver may take several before it reports any. */
  | { readonly do: "take-back"; readonly index: number }
  /** Record that all that could be taken back is. */
  | { readonly do: "abort" };

export type CommitEvent =
  | { readonly was: "prepared"; readonly index: number; readonly prepared: PreparedCommit | null }
  | { readonly was: "started"; readonly index: number }
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
  /** A person ended it as it is. What it has done so far stays; `whys` has a sentence for each participant that is left so. */
  | { readonly was: "abandoned"; readonly at: string; readonly whys: ReadonlyMap<number, string> };

/** What is to be done next; undefined when it is over, or when only a person can go on. */
export function nextEffect(record: TransactionRecord): Effect | undefined {
  switch (record.phase) {
    case "preparing":
      return nextBeforeDecision(record.participants);
    case "landing": {
      const index = record.participants.findIndex(({ status }) => status === "prepared");
      return index >= 0 ? { do: "land", index } : { do: "finish" };
    }
    case "landed":
      return { do: "clean" };
    case "aborting": {
      // The reverse of the order in which they prepared and committed.
      const index = record.participants.findLastIndex((participant) => isToBeTakenBack(participant));
      return index >= 0 ? { do: "take-back", index } : { do: "abort" };
    }
    case "in-doubt":
    case "done":
    case "aborted":
      return undefined;
  }
}

/** The record after this happened. Throws on an event that can't happen now, which is a defect of the driver. */
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

/** A prepare that never returned may have begun, so `waiting` is taken back too; what never started costs its strategy a look. */
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
    if (participant.kind !== "irreversible" || participant.status === "waiting" || participant.status === "unchanged")
      return participant;
    return {
      ...participant,
      status: "not-undone" as const,
      message: "its commit can't be taken back and may have happened, wholly or in part",
    };
  });
  return { ...record, phase: "aborting", failure, participants };
}

/** Only where a commit that can't be taken back had started does nobody know; everything else follows from the record. */
function recovered(record: TransactionRecord): TransactionRecord {
  if (record.phase !== "preparing") return record;
  const irreversible = record.participants.find(({ kind }) => kind === "irreversible");
  if (irreversible?.status === "started") return { ...record, phase: "in-doubt" };
  // It goes last, so once it is known to have happened all the others are ready, and the only way is on.
  if (irreversible?.status === "committed") return record;
  return failed(record, {
    was: "failed",
    report: { resource: "", message: "the process died before the decision" },
    conflicts: [],
  });
}

function settled(record: TransactionRecord, how: "commit" | "abort"): TransactionRecord {
  if (how === "abort") {
    // What has landed of a landing that is given up is taken back like what was only prepared.
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

/** What has landed as a whole is only not tidied up. */
function abandoned(record: TransactionRecord, { at, whys }: CommitEvent & { was: "abandoned" }): TransactionRecord {
  if (record.phase === "landed") return { ...record, phase: "done" };
  const participants = record.participants.map((participant, index) => {
    const message = whys.get(index);
    return message === undefined ? participant : { ...participant, status: "not-undone" as const, message };
  });
  return { ...record, phase: "aborted", finishedAt: at, participants };
}

function withParticipant(record: TransactionRecord, index: number, change: Partial<Participant>): TransactionRecord {
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
