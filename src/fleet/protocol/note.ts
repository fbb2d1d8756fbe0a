import type { Attention, PreparedCommit } from "../../core/strategy.ts";
import type { ParticipantKind } from "../../core/transaction.ts";
import { type Answer, attemptKey, type Call, deedOf } from "./call.ts";

/**
 * What a host has noted of one sandbox in one transaction, or of one operation, in its own durable state. It
 * is flushed before the host does what it says has begun, and before it answers what it says has ended. It
 * lasts longer than any call of that work.
 */
export interface Note {
  readonly work: string;
  readonly scope: Call["scope"];
  readonly plan: string;
  readonly sandbox: string;
  readonly original: string;
  readonly kind: ParticipantKind;
  readonly direction: Call["direction"];
  readonly state: NoteState;
  /** What was answered, by method and attempt. */
  readonly answers: { readonly [attempt: string]: Answer };
  readonly prepared?: PreparedCommit;
  readonly landed?: { readonly changes: number; readonly attention: readonly Attention[] };
  readonly takenBack?: { readonly attention: readonly Attention[] };
  /** The transaction is over everywhere: the original is free for others. */
  readonly isReleased: boolean;
  /** The latest deadline of its calls that this host has seen. */
  readonly lastDeadline: number;
}

/**
 * - `new`: nothing has begun.
 * - `preparing`: prepare has begun.
 * - `prepared`: prepare returned, also if there was nothing to land.
 * - `started`: (one-phase) its state is saved, so that its commit can be taken back.
 * - `committing`: (one-phase) its commit has begun.
 * - `committed`: (one-phase) its commit returned.
 * - `rolled-back`: (one-phase) its commit is taken back; its work is not in the sandbox yet.
 * - `landed`: it has landed. While the transaction is not over, it may still be given up.
 * - `taken-back`: it was taken back, for good.
 * - `never-ran`: its commit has not begun, and never will.
 */
export type NoteState =
  | "new"
  | "preparing"
  | "prepared"
  | "started"
  | "committing"
  | "committed"
  | "rolled-back"
  | "landed"
  | "taken-back"
  | "never-ran";

function newNote(call: Call): Note {
  const { work, scope, plan, sandbox, original, kind, direction, deadline } = call;
  const facts = { work, scope, plan, sandbox, original, kind, direction };
  // An operation outside of a transaction keeps nobody out once it has returned.
  const isReleased = scope === "operation";
  return { ...facts, state: "new", answers: {}, isReleased, lastDeadline: deadline };
}

/** The note when this call begins to run. */
export function begun(note: Note | undefined, call: Call): Note {
  const noted = seen(note, call);
  const deed = deedOf(call);
  if (deed === "prepare") return { ...noted, state: "preparing" };
  return deed === "commit" ? { ...noted, state: "committing" } : noted;
}

/** The note with what this call was answered. An answer that only says "not now" is not kept. */
export function answered(note: Note | undefined, call: Call, answer: Answer): Note {
  const noted = after(seen(note, call), call, answer);
  return { ...noted, answers: { ...noted.answers, [attemptKey(call)]: answer } };
}

function seen(note: Note | undefined, call: Call): Note {
  if (note === undefined) return newNote(call);
  return note.lastDeadline >= call.deadline ? note : { ...note, lastDeadline: call.deadline };
}

function after(note: Note, call: Call, answer: Answer): Note {
  switch (answer.said) {
    case "prepared":
      return {
        ...note,
        state: "prepared",
        ...(answer.prepared !== null && { prepared: answer.prepared }),
      };
    case "started":
      return { ...note, state: "started" };
    case "committed": {
      const landed = { changes: answer.changes, attention: answer.attention };
      return { ...note, state: deedOf(call) === "land" ? "landed" : "committed", landed };
    }
    case "rolled-back":
      return { ...note, state: "rolled-back" };
    case "taken-back":
      return { ...note, state: "taken-back", takenBack: { attention: answer.attention } };
    case "never-ran":
      return { ...note, state: "never-ran" };
    case "changed":
    case "failed":
    case "in-doubt":
    case "refused":
      return note;
  }
}

/** Whether others may not begin on its original. */
export function holdsOriginal({ isReleased, state }: Note): boolean {
  return !isReleased && state !== "taken-back" && state !== "never-ran";
}

/** The note once its host has taken it back by itself (upkeep.ts). */
export function takenBackHere(note: Note, attention: readonly Attention[]): Note {
  return { ...note, state: "taken-back", takenBack: { attention } };
}

/** The note once its transaction is over everywhere. */
export function released(note: Note): Note {
  return { ...note, isReleased: true };
}
