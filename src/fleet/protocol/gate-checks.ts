import { type Answer, attemptKey, type Call, deedOf, type Refusal } from "./call.ts";
import type { Note } from "./note.ts";
import { isGivenUp, isOver, type TransactionRow } from "./transaction-row.ts";

/** Everything that the rules look at. */
export interface Question {
  readonly call: Call;
  /** What this host has noted of the call's work and sandbox. */
  readonly note: Note | undefined;
  /** Whether that note was written for this very look (`noteBeforeLook`). */
  readonly isNotedFirst: boolean;
  /** Notes of other works that hold the same original. */
  readonly holders: readonly Note[];
  readonly look: Look;
  /** The versions of the contract that this host understands. */
  readonly contracts: readonly number[];
}

/** What the database said, in one statement. */
export interface Look {
  /** Its clock. */
  readonly now: number;
  /** The rows of the call's transaction; undefined if there are none. */
  readonly row: TransactionRow | undefined;
  /** The work that holds the plan of the call. */
  readonly claimant: string | undefined;
  /** Those of the works asked for that are over. */
  readonly over: ReadonlySet<string>;
}

/** One rule: the answer to a call that it does not let through. */
export interface GateCheck {
  readonly name: string;
  readonly check: (question: Question) => Answer | undefined;
}

/**
 * The rules of a host, in their order; what goes wrong without each of them is in docs/design/fleet.md.
 *
 * What was noted comes first. Notes are forgotten after the deadline, so the deadline comes next: any other
 * refusal says that nothing happened.
 */
export const GATE_CHECKS: readonly GateCheck[] = [
  { name: "answers-again", check: answersAgain },
  { name: "ended", check: ended },
  { name: "deadline", check: deadline },
  { name: "contract", check: contract },
  { name: "commit-once", check: commitOnce },
  { name: "claim", check: claim },
  { name: "record", check: openRecord },
  { name: "look-before-beginning", check: lookBeforeBeginning },
  { name: "look-before-landing", check: lookBeforeLanding },
  { name: "look-before-taking-back", check: lookBeforeTakingBack },
  { name: "one-transaction", check: oneTransaction },
];

/**
 * A host of another version refuses, before anything is prepared. Every version understands the envelope, but
 * perhaps not what it asks for.
 */
function contract({ call, contracts }: Question): Answer | undefined {
  return contracts.includes(call.contract) ? undefined : refused("contract");
}

/** A repeated call is answered as it was the first time; what is done is answered under every attempt. */
function answersAgain({ call, note }: Question): Answer | undefined {
  const again = note?.answers[attemptKey(call)];
  if (again !== undefined) return again;
  const deed = deedOf(call);
  if (note?.state === "prepared" && deed === "prepare")
    return { said: "prepared", prepared: note.prepared ?? null };
  if (note?.state === "committed" && deed === "commit") return committedAs(note);
  return undefined;
}

/** A transaction that has ended here is answered from the note, whatever else is asked of it. */
function ended({ call, note }: Question): Answer | undefined {
  const deed = deedOf(call);
  switch (note?.state) {
    case "landed":
      if (deed === "land") return committedAs(note);
      // What has landed may still be given up, as long as the transaction is not over.
      return deed === "take-back" && !note.isReleased ? undefined : refused("ended");
    case "taken-back":
      return deed === "take-back"
        ? { said: "taken-back", attention: note.takenBack?.attention ?? [] }
        : refused("ended");
    case "never-ran":
      return deed === "ask" ? { said: "never-ran" } : refused("ended");
    default:
      return undefined;
  }
}

/** By the clock of the database: nobody waits for it any more. */
function deadline({ call, look }: Question): Answer | undefined {
  return look.now > call.deadline ? refused("late") : undefined;
}

/**
 * A commit that can't be taken back runs once. The question what became of it is answered from the note, and
 * a host that has none promises never to begin.
 */
function commitOnce({ call, note, isNotedFirst }: Question): Answer | undefined {
  if (call.method === "ask") return askedAnswer(note);
  if (call.method !== "commit" || call.kind !== "irreversible" || isNotedFirst) return undefined;
  return askedAnswer(note);
}

function askedAnswer(note: Note | undefined): Answer {
  if (note?.state === "committed") return committedAs(note);
  return note?.state === "committing" ? { said: "in-doubt" } : { said: "never-ran" };
}

/** A call outside of a transaction runs only while its operation holds the plan. */
function claim({ call, look }: Question): Answer | undefined {
  return call.scope === "operation" && look.claimant !== call.work ? refused("no-claim") : undefined;
}

/** Nothing runs for a transaction that is over, or whose rows are gone. */
function openRecord({ call, look }: Question): Answer | undefined {
  return call.scope === "transaction" && isOver(look.row) ? refused("over") : undefined;
}

/** Nothing begins once there is a decision: whatever it says, it was made without this. */
function lookBeforeBeginning({ call, look }: Question): Answer | undefined {
  const deed = deedOf(call);
  if (deed !== "prepare" && deed !== "start" && deed !== "commit") return undefined;
  return look.row?.decision === undefined ? undefined : refused("decided");
}

/** Only what is decided lands, and only as long as it is not given up. */
function lookBeforeLanding({ call, look }: Question): Answer | undefined {
  if (deedOf(call) !== "land") return undefined;
  if (look.row?.givenUp === true) return refused("given-up");
  return look.row?.decision === "land" ? undefined : refused("undecided");
}

/** Only what is given up is taken back. */
function lookBeforeTakingBack({ call, look }: Question): Answer | undefined {
  if (deedOf(call) !== "take-back") return undefined;
  return look.row !== undefined && isGivenUp(look.row) ? undefined : refused("undecided");
}

/**
 * An original that another transaction holds is left alone, also where that one has landed: it may still be
 * given up, and then it changes this original once more.
 */
function oneTransaction({ call, holders, look }: Question): Answer | undefined {
  const deed = deedOf(call);
  if (deed === "land" || deed === "take-back") return undefined;
  return holders.some(({ work }) => work !== call.work && !look.over.has(work)) ? refused("busy") : undefined;
}

function committedAs({ landed }: Note): Answer {
  return { said: "committed", changes: 0, attention: [], ...landed };
}

function refused(why: Refusal): Answer {
  return { said: "refused", why };
}
