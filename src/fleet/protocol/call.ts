import type { Conflict } from "../../core/errors/errors.ts";
import type { Attention, PreparedCommit } from "../../core/strategy.ts";
import type { ParticipantKind } from "../../core/transaction.ts";

/**
 * A call of one method of one sandbox, as it travels to the host of that sandbox: plain data that may arrive
 * late, twice, in another order, or never. What moves calls decides nothing; what the host makes of one is in
 * gate.ts.
 *
 * The key of a call is work, sandbox, method and attempt. A call that is repeated under the same key is
 * answered as it was the first time. A new attempt is a new try: otherwise a landing that failed once on a
 * full disk could never be tried again.
 */
export interface Call {
  /** The id of the transaction, or of the operation outside of one, that it belongs to. Never used again. */
  readonly work: string;
  readonly scope: "transaction" | "operation";
  /** What the transaction does. An operation outside of one counts as a commit. */
  readonly direction: "commit" | "undo";
  /** The claim that the work has to hold. */
  readonly plan: string;
  readonly sandbox: string;
  /** What its original is locked by on its host. */
  readonly original: string;
  /** The one host that may ever run it. */
  readonly host: string;
  readonly kind: ParticipantKind;
  readonly method: Method;
  readonly attempt: number;
  readonly sender: Driver;
  /** By the clock of the database. From then on the host refuses it. */
  readonly deadline: number;
  /** The version of this contract that its sender speaks. */
  readonly contract: number;
}

/** The version of the contract between hosts. A host refuses what it does not understand. */
export const CONTRACT = 1;

/** Who drives a transaction, or does an operation: one process of a host, in one epoch of its lease. */
export interface Driver {
  readonly host: string;
  readonly epoch: number;
  readonly process: string;
}

/** Methods of SandboxStrategy that change something in a transaction, and the two that are not of it. */
export type Method =
  | "prepare"
  | "commitPrepared"
  | "rollbackPrepared"
  | "checkpoint"
  | "commit"
  | "rollback"
  | "restoreCheckpoint"
  /**
   * Asks what became of a commit that can't be taken back. A host that has not begun it answers that it
   * never will.
   */
  | "ask"
  /** Any method that changes a sandbox outside of a transaction. */
  | "change";

/** What a method of a transaction does to the original, whatever it is called. */
export type Deed = "prepare" | "start" | "commit" | "land" | "take-back" | "ask" | "change";

export function deedOf({ method, direction }: Pick<Call, "method" | "direction">): Deed {
  switch (method) {
    case "prepare":
      return "prepare";
    case "commitPrepared":
      return "land";
    case "rollbackPrepared":
    case "restoreCheckpoint":
      return "take-back";
    case "checkpoint":
      return "start";
    case "commit":
      return "commit";
    case "rollback":
      // A rollback undoes a one-phase commit: that is how the undo of one lands.
      return direction === "undo" ? "land" : "take-back";
    case "ask":
      return "ask";
    case "change":
      return "change";
  }
}

export type Answer =
  | { readonly said: "prepared"; readonly prepared: PreparedCommit | null }
  | { readonly said: "started" }
  | { readonly said: "committed"; readonly changes: number; readonly attention: readonly Attention[] }
  | { readonly said: "rolled-back" }
  | { readonly said: "taken-back"; readonly attention: readonly Attention[] }
  | { readonly said: "changed" }
  /** The strategy threw. Another attempt may go better. */
  | { readonly said: "failed"; readonly message: string; readonly conflicts?: readonly Conflict[] }
  /** The commit was not begun here, and never will be. */
  | { readonly said: "never-ran" }
  /** It began here, in a process that died, and nobody can tell how far it got. */
  | { readonly said: "in-doubt" }
  /** This call did nothing. */
  | { readonly said: "refused"; readonly why: Refusal };

/**
 * - `contract`: the host does not understand this version.
 * - `late`: its deadline has passed. It may have run before, if it was sent more than once.
 * - `ended`: this host has ended the transaction in another way.
 * - `over`: there is no such transaction any more.
 * - `decided`: it is too late to begin something.
 * - `undecided`: nothing says that it may land, or be taken back.
 * - `given-up`: it may not land any more.
 * - `no-claim`: the operation does not hold the plan.
 * - `busy`: another transaction has not ended on this original.
 */
export type Refusal =
  | "contract"
  | "late"
  | "ended"
  | "over"
  | "decided"
  | "undecided"
  | "given-up"
  | "no-claim"
  | "busy";

/** Refusals for people, who read "the host … refused: …". */
export const REFUSAL_TEXTS: { readonly [why in Refusal]: string } = {
  contract: "its Drydock has another version and does not understand this one",
  late: "the call came too late",
  ended: "it has ended that transaction already",
  over: "there is no such transaction any more",
  decided: "it is decided already",
  undecided: "nothing is decided yet",
  "given-up": "it was given up",
  "no-claim": "the plan is not held by this operation any more",
  busy: "a transaction that has not ended holds the original",
};

/** What names a call within its work and sandbox. */
export function attemptKey({ method, attempt }: Pick<Call, "method" | "attempt">): string {
  return `${method} ${attempt}`;
}

export function callKey(call: Pick<Call, "work" | "sandbox" | "method" | "attempt">): string {
  return `${call.work} ${call.sandbox} ${attemptKey(call)}`;
}
