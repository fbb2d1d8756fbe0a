import { afterDecide, afterSave, type Known } from "../../src/fleet/protocol/drive-results.ts";
import type { GateCheck } from "../../src/fleet/protocol/gate-checks.ts";
import { epochOf, takeLease } from "../../src/fleet/protocol/lease.ts";
import { save } from "../../src/fleet/protocol/transaction-row.ts";
import { upkeepOf } from "../../src/fleet/protocol/upkeep.ts";
import type { Protocol } from "./protocol.ts";

/** A rule of the protocol, and the protocol as it is without it. */
interface Rule {
  readonly what: string;
  readonly without: (protocol: Protocol) => Protocol;
}

/** Each rule by its name. */
export const RULES = {
  "first-writer-wins": {
    what: "The decision is written once.",
    without: (protocol) => ({ ...protocol, decide: (row, decision) => ({ ...row, decision }) }),
  },
  "act-on-the-row": {
    what: "A coordinator acts on what the decision says, not on what it wanted to write.",
    without: (protocol) => ({
      ...protocol,
      afterDecide: (drive, result) => {
        const step = drive.next?.phase === "aborting" ? "give-up" : "land";
        return afterDecide(drive, result.was === "known" ? { ...result, value: step } : result);
      },
    }),
  },
  "read-what-is-not-known": {
    what: "A save whose outcome is not known is settled by reading, never by guessing that it was made.",
    without: (protocol) => ({
      ...protocol,
      afterSave: (drive, saved, result) => {
        const row = { ...drive.row, record: saved.record, version: saved.version + 1 };
        return afterSave(drive, saved, result.was === "known" ? result : known({ was: "saved", row }));
      },
    }),
  },
  "read-what-was-decided": {
    what: "A decision whose outcome is not known is read, never guessed.",
    without: (protocol) => ({
      ...protocol,
      afterDecide: (drive, result) => {
        const wanted = drive.next?.phase === "aborting" ? "give-up" : "land";
        return protocol.afterDecide(drive, result.was === "known" ? result : known(wanted));
      },
    }),
  },
  "compare-and-set": {
    what: "The record is replaced only if nobody else has replaced it since.",
    without: (protocol) => ({
      ...protocol,
      save: (row, saved) => save({ ...row, version: saved.version }, saved),
    }),
  },
  "second-row": {
    what: "Giving up is a row of its own, written only while the record says landing.",
    without: (protocol) => ({
      ...protocol,
      giveUp: (row) => (row.record.phase === "landing" ? { ...row, decision: "give-up" } : row),
    }),
  },
  "give-up-while-landing": {
    what: "A landing is given up only while the record says that it lands.",
    without: (protocol) => ({
      ...protocol,
      giveUp: (row) => (row.decision === "land" ? { ...row, givenUp: true } : row),
    }),
  },
  "finish-unless-given-up": {
    what: "A landing that was given up can't finish.",
    without: (protocol) => ({
      ...protocol,
      save: (row, saved) => {
        const { givenUp, ...rest } = row;
        const result = save(rest, saved);
        return result.was === "saved" && givenUp ? { ...result, row: { ...result.row, givenUp } } : result;
      },
    }),
  },
  "claims-of-transactions": {
    what: "Claims belong to the transaction until it is over, not to the lease of who began it.",
    without: (protocol) => ({
      ...protocol,
      isHeld: (claim, isAliveNow) => claim !== undefined && isAliveNow(claim.holder),
    }),
  },
  "takeover-of-dead-leases": {
    what: "A transaction is taken over only from a driver whose lease is gone.",
    without: (protocol) => ({ ...protocol, isAlive: () => false }),
  },
  "no-late-renewal": {
    what: "A lease that has run out is not renewed.",
    without: (protocol) => ({
      ...protocol,
      renewLease: (lease, epoch, now, terms) =>
        lease?.epoch === epoch ? { epoch, until: now + terms.lengthMs } : undefined,
    }),
  },
  "new-epoch": {
    what: "Taking a lease raises its epoch.",
    without: (protocol) => ({
      ...protocol,
      takeLease: (_, __, now, { lengthMs }) => ({ epoch: 1, until: now + lengthMs }),
    }),
  },
  "lease-by-compare": {
    what: "A lease is taken only from the epoch that its taker knows of.",
    without: (protocol) => ({
      ...protocol,
      takeLease: (lease, _, now, terms) => takeLease(lease, epochOf(lease), now, terms),
    }),
  },
  "count-from-before": {
    what: "A host counts on its lease from before it asked, and a part of it only.",
    without: (protocol) => ({
      ...protocol,
      countsOnLeaseUntil: (sentAt, terms) => sentAt + 2 * terms.lengthMs,
    }),
  },
  "one-directory": {
    what: "A name belongs to one state directory.",
    without: (protocol) => ({
      ...protocol,
      registrationProblem: (known, directory) =>
        protocol.registrationProblem(
          known && known.directory === directory.directory ? known : undefined,
          directory,
        ),
    }),
  },
  "next-start": {
    what: "A host starts only as the next link of the starts under its name.",
    without: (protocol) => ({
      ...protocol,
      registrationProblem: (known, directory) =>
        protocol.registrationProblem(known && { ...known, start: directory.start }, directory),
    }),
  },
  "own-start": {
    what: "Each process asks for a start of its own, so that a copy of a directory never has the same one.",
    without: (protocol) => ({ ...protocol, newStarts: false }),
  },
  "count-of-notes": {
    what: "A copy of a state directory that lacks what was noted is refused.",
    without: (protocol) => ({
      ...protocol,
      registrationProblem: (known, directory) =>
        protocol.registrationProblem(known && { ...known, notes: 0 }, directory),
    }),
  },
  "current-start": {
    what: "Only the last start under a name takes calls, looks and answers.",
    without: (protocol) => ({ ...protocol, isCurrent: (known) => known !== undefined }),
  },
  "rows-stay": {
    what: "Rows stay until every host has ended the transaction.",
    without: (protocol) => ({ ...protocol, mayRemoveRows: () => true }),
  },
  "calls-stay": {
    what: "A call that is over is kept longer than any request to send it again is on its way.",
    without: (protocol) => ({ ...protocol, callsStayMs: 0 }),
  },
  upkeep: {
    what: "A host looks after what it has noted by itself, again and again.",
    without: (protocol) => ({ ...protocol, upkeepOf: () => "nothing" }),
  },
  "wait-for-all": {
    what: "A transaction is aborted once every host has answered that it took back.",
    without: (protocol) => ({ ...protocol, waitsForAll: false }),
  },
  "attempt-in-key": {
    what: "Each try of a call has a number of its own.",
    without: (protocol) => ({ ...protocol, countsAttempts: false }),
  },
  cancel: {
    what: "Whoever stops waiting for a call takes it out of the queue, before saying that nothing happened.",
    without: (protocol) => ({ ...protocol, cancels: false }),
  },
  "notes-outlast-calls": {
    what: "A host keeps a note until no call of that work can do anything any more.",
    without: (protocol) => ({
      ...protocol,
      upkeepOf: (note, look) => upkeepOf(note, { ...look, now: Number.POSITIVE_INFINITY }),
    }),
  },
  "one-call-at-a-time": {
    what: "All calls for one original run one after the other.",
    without: (protocol) => ({ ...protocol, oneCallAtATime: false }),
  },
  "notes-are-flushed": {
    what: "A note is on disk before the host goes on.",
    without: (protocol) => ({ ...protocol, flushesNotes: false }),
  },
  "note-before-look": {
    what: "A commit that can't be taken back is noted before the look, which tells the database of the note.",
    without: (protocol) => ({ ...protocol, notesBeforeLook: false }),
  },
  "ids-once": {
    what: "Ids are never used again.",
    without: (protocol) => ({ ...protocol, newIds: false }),
  },
  "database-keeps-commits": {
    what: "The database keeps what it has committed.",
    without: (protocol) => ({ ...protocol, keepsCommits: false }),
  },
  contract: gate("contract", "A host refuses calls of a version that it does not understand."),
  "answers-again": gate("answers-again", "A repeated call is answered as it was the first time."),
  ended: gate("ended", "What a host has ended answers every late call."),
  deadline: gate("deadline", "A host refuses calls after their deadline."),
  "commit-once": gate("commit-once", "A commit that can't be taken back runs once."),
  claim: gate("claim", "A call outside of a transaction runs only while its operation holds the plan."),
  record: gate("record", "Nothing runs for a transaction that is over, or whose rows are gone."),
  "look-before-beginning": gate("look-before-beginning", "Nothing begins once there is a decision."),
  "look-before-landing": gate("look-before-landing", "A host lands only what the rows say is decided."),
  "look-before-taking-back": gate(
    "look-before-taking-back",
    "A host takes back only what the rows say is given up.",
  ),
  "one-transaction": gate("one-transaction", "An original that a transaction holds is left alone by others."),
  "held-after-landing": {
    what: "What has landed holds its original too, because it may still be given up.",
    without: (protocol) => ({
      ...protocol,
      checks: protocol.checks.map((check) =>
        check.name === "one-transaction" ? withoutLanded(check) : check,
      ),
    }),
  },
} as const satisfies { readonly [name: string]: Rule };

export type RuleName = keyof typeof RULES;

export function isRule(name: string): name is RuleName {
  return Object.hasOwn(RULES, name);
}

function known<T>(value: T): Known<T> {
  return { was: "known", value };
}

function withoutLanded({ name, check }: GateCheck): GateCheck {
  return {
    name,
    check: (question) =>
      check({ ...question, holders: question.holders.filter(({ state }) => state !== "landed") }),
  };
}

function gate(name: string, what: string): Rule {
  const without = (protocol: Protocol): Protocol => ({
    ...protocol,
    checks: protocol.checks.filter((check) => check.name !== name),
  });
  return { what, without };
}
