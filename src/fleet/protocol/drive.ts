import { advance, type CommitEvent, type Effect, nextEffect } from "../../core/commit-machine.ts";
import type { Conflict } from "../../core/errors/errors.ts";
import type { Participant, TransactionRecord } from "../../core/transaction.ts";
import { type Call, CONTRACT, type Driver, type Method } from "./call.ts";
import { asRowsSay, decisionBetween } from "./row-rules.ts";
import type { Decision, Save, TransactionRow } from "./transaction-row.ts";

/**
 * How a process drives a transaction over hosts, as a pure machine: `nextStep` says what to do, and
 * drive-results.ts makes the next state of what came of it. What comes next in the commit itself is said by
 * the machine of one host (core/commit-machine.ts); this adds what several hosts need:
 *
 * - Each record is saved by compare-and-set before the step that depends on it. A conflict means that another
 *   process drives: this one stops.
 * - Before the record turns to `landing` or `aborting`, the decision is in the database. If that says
 *   otherwise, the record turns the other way.
 * - A write whose outcome is not known is settled by reading, never by guessing.
 * - A call that is not answered in time before the decision gives everything up; after it, it is tried again
 *   under a new attempt. A commit that can't be taken back is asked for.
 */
export interface Drive {
  readonly me: Driver;
  /** The database as far as this process knows. */
  readonly row: TransactionRow;
  /** The record to be saved. */
  readonly next?: TransactionRecord;
  /** For each participant, where it is. */
  readonly places: readonly Place[];
  /** How often each call was tried, by participant and method. */
  readonly attempts: { readonly [call: string]: number };
  /** The outcome of a write is not known, or something else may have happened meanwhile. */
  readonly mustRead: boolean;
  /** Something could not be done: it is tried again after a while. */
  readonly mustWait: boolean;
  /** It is not known what became of the commit that can't be taken back. */
  readonly mustAsk: boolean;
}

/** Where a participant is. */
export interface Place {
  readonly host: string;
  readonly original: string;
}

export type Step =
  | { readonly do: "read" }
  | { readonly do: "decide"; readonly decision: Decision }
  | { readonly do: "save"; readonly save: Save }
  /** Sends these calls, and waits until each is answered or can't be waited for any longer. */
  | { readonly do: "call"; readonly calls: readonly NewCall[] }
  | { readonly do: "wait" };

/** A call as the machine knows it: whoever sends it adds the deadline. */
export interface NewCall extends Omit<Call, "deadline"> {
  readonly index: number;
}

/** The next step; undefined when the transaction is over, or when only a person can go on. */
export function nextStep(drive: Drive): Step | undefined {
  const { row, next } = drive;
  if (drive.mustRead) return { do: "read" };
  if (next !== undefined) {
    const decision = decisionBetween(row.record, next);
    if (decision !== undefined && row.decision !== decision) return { do: "decide", decision };
    return { do: "save", save: { record: next, version: row.version } };
  }
  if (drive.mustWait) return { do: "wait" };
  if (drive.mustAsk && isInQuestion(row.record))
    return { do: "call", calls: [callTo(drive, startedIn(row.record), "ask")] };
  const effect = nextEffect(row.record);
  return effect === undefined ? undefined : stepFor(drive, effect);
}

/** A transaction that this process has just begun, or taken over. */
export function drivingFrom(me: Driver, row: TransactionRow, places: readonly Place[]): Drive {
  return { me, row, places, attempts: {}, mustRead: false, mustWait: false, mustAsk: false };
}

/** What a process does first with a transaction that it has taken over from a dead one. */
export function takenOver(drive: Drive): Drive {
  const said = asRowsSay(drive.row);
  if (said !== drive.row.record) return { ...drive, next: said };
  if (isInQuestion(said)) return { ...drive, mustAsk: true };
  const next = advance(said, { was: "recovered" });
  return next === said ? drive : { ...drive, next };
}

/** The user interrupts, which counts until a commit has begun that can't be taken back. */
export function interrupted(drive: Drive): Drive {
  const { record } = drive.row;
  const { participants } = record;
  const hasBegun = participants.some(({ kind, status }) => kind === "irreversible" && status !== "waiting");
  if (record.phase !== "preparing" || drive.next !== undefined || drive.mustRead || hasBegun) return drive;
  return { ...drive, next: advance(record, failure(undefined, "it was interrupted")) };
}

/** A person settles what is in doubt, or what only a host that is gone could answer. */
export function settledAs(drive: Drive, how: "commit" | "abort"): Drive {
  const { record } = drive.row;
  if (record.phase === "in-doubt")
    return { ...drive, mustAsk: false, next: advance(record, { was: "settled", how }) };
  if (!isInQuestion(record)) return drive;
  return { ...drive, mustAsk: false, next: advance(record, { was: "recovered" }) };
}

/** Whether a commit was to begin that can't be taken back, and nothing says what became of it. */
function isInQuestion(record: TransactionRecord): boolean {
  return record.phase === "preparing" && startedIn(record) >= 0;
}

export function startedIn({ participants }: TransactionRecord): number {
  return participants.findIndex(({ kind, status }) => kind === "irreversible" && status === "started");
}

export function failure(
  participant: Participant | undefined,
  message: string,
  found: readonly Conflict[] = [],
): CommitEvent {
  const resource = participant?.resource ?? "";
  const conflicts = found.map((conflict) => ({ ...conflict, resource }));
  return { was: "failed", report: { resource, message }, conflicts };
}

/** The times of the record are for people; the driver of the database writes them when it saves. */
const SAVED_TIME = "";

function stepFor(drive: Drive, effect: Effect): Step {
  const { record, version } = drive.row;
  const saving = (event: CommitEvent): Step => ({
    do: "save",
    save: { record: advance(record, event), version },
  });
  switch (effect.do) {
    case "prepare":
      return { do: "call", calls: [callTo(drive, effect.index, "prepare")] };
    case "start-reversible":
      return { do: "call", calls: [callTo(drive, effect.index, "checkpoint")] };
    case "start-irreversible":
      return saving({ was: "started", index: effect.index });
    case "commit-reversible":
    case "commit-irreversible":
      return { do: "call", calls: [callTo(drive, effect.index, "commit")] };
    case "decide":
      return { do: "decide", decision: "land" };
    case "land":
      return {
        do: "call",
        calls: effect.indexes.map((index) => callTo(drive, index, landingOf(record, index))),
      };
    case "take-back":
      return {
        do: "call",
        calls: effect.indexes.map((index) => callTo(drive, index, takingBackOf(drive, index))),
      };
    case "finish":
      return saving({ was: "finished", at: SAVED_TIME });
    case "clean":
      return saving({ was: "cleaned" });
    case "abort":
      return saving({ was: "aborted", at: SAVED_TIME });
  }
}

function landingOf({ participants }: TransactionRecord, index: number): Method {
  return participants[index]?.kind === "two-phase" ? "commitPrepared" : "rollback";
}

/** A one-phase participant is taken back by two calls: the original first, then the work in the sandbox. */
function takingBackOf({ row, attempts }: Drive, index: number): Method {
  if (row.record.participants[index]?.kind === "two-phase") return "rollbackPrepared";
  return attempts[`${index} rolled-back`] === undefined ? "rollback" : "restoreCheckpoint";
}

function callTo({ me, row, places, attempts }: Drive, index: number, method: Method): NewCall {
  const { id, planId, direction, participants } = row.record;
  const [participant, place] = [participants[index], places[index]];
  if (participant === undefined || place === undefined)
    throw new Error(`Transaction ${id} has no participant ${index}.`);
  return {
    index,
    work: id,
    scope: "transaction",
    direction,
    plan: planId,
    sandbox: participant.ref.sandboxId,
    ...place,
    kind: participant.kind,
    method,
    attempt: (attempts[`${index} ${method}`] ?? 0) + 1,
    sender: me,
    contract: CONTRACT,
  };
}
