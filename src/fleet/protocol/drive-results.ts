import { advance } from "../../core/commit-machine.ts";
import type { TransactionRecord } from "../../core/transaction.ts";
import { type Answer, REFUSAL_TEXTS } from "./call.ts";
import { type Drive, failure, type NewCall, startedIn } from "./drive.ts";
import { asRowsSay, decisionBetween } from "./row-rules.ts";
import {
  type Decision,
  isSameDriver,
  type Save,
  type SaveResult,
  type TransactionRow,
} from "./transaction-row.ts";

/** What came of a call: its answer, or that it was taken from the queue before anybody had it, or nothing. */
export type Reply = Answer | { readonly said: "cancelled" } | { readonly said: "not-known" };

/** What came of a statement of the database, if that is known. */
export type Known<T> = { readonly was: "known"; readonly value: T } | { readonly was: "not-known" };

/** The transaction belongs to somebody else now, or is gone: this process stops. */
export type After = Drive | "stop";

export function afterRead(drive: Drive, result: Known<TransactionRow | undefined>): After {
  if (result.was === "not-known") return { ...drive, mustRead: true };
  const row = result.value;
  if (row === undefined || !isSameDriver(row.driver, drive.me)) return "stop";
  const read = { ...drive, mustRead: false };
  // The save whose outcome was not known has not happened: it is made again.
  const isAsBefore = row.version === drive.row.version && asRowsSay(row) === row.record;
  return isAsBefore ? { ...read, row } : following(read, row);
}

/** Everybody acts on what the database says, whatever they wanted to write. */
export function afterDecide(drive: Drive, result: Known<Decision | undefined>): After {
  if (result.was === "not-known") return { ...drive, mustRead: true };
  if (result.value === undefined) return "stop";
  const row = { ...drive.row, decision: result.value };
  const isAsWanted = drive.next !== undefined && decisionBetween(row.record, drive.next) === result.value;
  return isAsWanted ? { ...drive, row } : following(drive, row);
}

export function afterSave(drive: Drive, save: Save, result: Known<SaveResult>): After {
  if (result.was === "not-known") return { ...drive, mustRead: true };
  const { value } = result;
  // A conflict may be with a save of its own that arrived late, so it reads who drives.
  if (value.was !== "saved") return { ...withoutNext(drive), mustRead: true };
  // The next one may already follow from this record.
  const row = { ...drive.row, ...value.row, record: save.record };
  return following(drive, row);
}

/** What came of all the calls of a step, in their order. */
export function afterCalls(drive: Drive, calls: readonly NewCall[], replies: readonly Reply[]): After {
  let after: Drive = { ...drive, mustAsk: false };
  for (const [at, call] of calls.entries())
    after = afterReply(after, call, replies[at] ?? { said: "not-known" });
  return after;
}

/** It is time to try again: somebody may have given up meanwhile. */
export function afterWait(drive: Drive): Drive {
  return { ...drive, mustWait: false, mustRead: true };
}

function afterReply(drive: Drive, call: NewCall, reply: Reply): Drive {
  const tried = { ...drive, attempts: { ...drive.attempts, [`${call.index} ${call.method}`]: call.attempt } };
  const record = drive.next ?? drive.row.record;
  if (record.phase === "preparing") return beforeDecision(tried, record, call, reply);
  return afterDecision(tried, record, call, reply);
}

function beforeDecision(
  drive: Drive,
  record: TransactionRecord,
  { index, kind }: NewCall,
  reply: Reply,
): Drive {
  switch (reply.said) {
    case "prepared":
      return { ...drive, next: advance(record, { was: "prepared", index, prepared: reply.prepared }) };
    case "started":
      return { ...drive, next: advance(record, { was: "started", index }) };
    case "committed":
      return { ...drive, next: advance(record, { ...reply, was: "committed", index }) };
    default:
      return kind === "irreversible" ? unsettled(drive, record, reply) : failing(drive, record, index, reply);
  }
}

/** A commit that can't be taken back did not return. Only its host can tell what became of it. */
function unsettled(drive: Drive, record: TransactionRecord, reply: Reply): Drive {
  const index = startedIn(record);
  switch (reply.said) {
    // A host that refused it has not begun, and another attempt is never made.
    case "never-ran":
      return failing(drive, advance(record, { was: "not-begun", index }), index, reply);
    case "in-doubt":
      return { ...drive, next: advance(record, { was: "recovered" }) };
    case "failed":
      return failing(drive, record, index, reply);
    default:
      return { ...drive, mustAsk: true, mustWait: true };
  }
}

function failing(drive: Drive, record: TransactionRecord, index: number, reply: Reply): Drive {
  const conflicts = reply.said === "failed" ? reply.conflicts : [];
  return {
    ...drive,
    next: advance(record, failure(record.participants[index], messageOf(reply), conflicts)),
  };
}

function afterDecision(drive: Drive, record: TransactionRecord, { index }: NewCall, reply: Reply): Drive {
  switch (reply.said) {
    case "committed":
      return record.phase === "landing"
        ? { ...drive, next: advance(record, { ...reply, was: "committed", index }) }
        : { ...drive, mustWait: true };
    case "taken-back":
      return record.phase === "aborting"
        ? { ...drive, next: advance(record, { ...reply, was: "taken-back", index }) }
        : { ...drive, mustWait: true };
    case "rolled-back":
      return { ...drive, attempts: { ...drive.attempts, [`${index} rolled-back`]: 1 } };
    default:
      return { ...drive, mustWait: true };
  }
}

/** Goes on from these rows. */
function following(drive: Drive, row: TransactionRow): Drive {
  const said = asRowsSay(row);
  const rest = { ...withoutNext(drive), row };
  return said === row.record ? rest : { ...rest, next: said };
}

function withoutNext({ next: _, ...rest }: Drive): Drive {
  return rest;
}

function messageOf(reply: Reply): string {
  switch (reply.said) {
    case "failed":
      return reply.message;
    case "refused":
      return `its host refused: ${REFUSAL_TEXTS[reply.why]}`;
    case "never-ran":
      return "its commit never began";
    default:
      return "its host did not answer in time";
  }
}
