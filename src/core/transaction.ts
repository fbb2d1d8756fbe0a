import type { Change, ExactPart } from "./change.ts";
import type { Conflict, ParticipantReport } from "./errors/errors.ts";
import type { Owner } from "./owner.ts";
import type { SandboxRef } from "./sandbox.ts";
import type { Protection } from "./self-running/protected-paths.ts";
import type { Attention, PreparedCommit } from "./strategy.ts";

/**
 * The journal's record of one atomic commit or undo. It is saved whole at each step; commit-machine.ts says
 * what each value means and what follows from it after a crash.
 */
export interface TransactionRecord {
  readonly id: string;
  readonly planId: string;
  readonly direction: "commit" | "undo";
  readonly message?: string;
  /** One commit takes the place of those that were made in git checkouts. */
  readonly squash?: boolean;
  /** The user's word that sandboxes from before a restart of the machine may land. */
  readonly afterRestart?: boolean;
  /** For an undo: the transaction that it takes back. */
  readonly undoes?: string;
  /**
   * The state to which the plan returns, if this is not its end: a part lands or is taken back, or earlier
   * parts are still landed.
   */
  readonly staysIn?: "open" | "applied";
  readonly owner: Owner;
  readonly startedAt: string;
  readonly phase: TransactionPhase;
  /** In the order in which they prepare and land. */
  readonly participants: readonly Participant[];
  /** It was decided and then given up, so what is being taken back may have landed. */
  readonly givenUp?: true;
  /** Why it is being taken back. */
  readonly failure?: { readonly report: ParticipantReport; readonly conflicts: readonly Conflict[] };
  readonly finishedAt?: string;
  /** For an undo: what stays as it landed, because no undo can take it back. */
  readonly leaves?: readonly LastingResource[];
  /** For a landed commit: why its undo record is gone, or is being removed. */
  readonly undoRecord?: "used" | "discarding" | "discarded";
  /** What it changed, once its undo record can't tell any more. */
  readonly landed?: LandedList;
}

/** A resource that an undo leaves as it landed. */
export interface LastingResource {
  readonly resource: string;
  readonly strategy: string;
  /** How many changes stay; of a resource that is worked on in place, it is not known. */
  readonly changes?: number;
}

/** What a landed commit changed. */
export interface LandedList {
  readonly changes: readonly (Pick<Change, "path" | "operation" | "kind" | "note"> & {
    readonly resource: string;
  })[];
  /** How many more there were, by resource. */
  readonly unlisted: { readonly [resource: string]: number };
}

/**
 * - `preparing`: no decision. A crash here undoes everything.
 * - `landing`: decided; the instant of commit has passed. A crash here finishes everything.
 * - `landed`: every participant has landed and is flushed. Cleanup is under way.
 * - `aborting`: decided against; what was prepared is being taken back.
 * - `in-doubt`: an irreversible participant started, and it is unknown whether it finished. A person settles
 *   it.
 * - `done`, `aborted`: over.
 */
export type TransactionPhase =
  | "preparing"
  | "landing"
  | "landed"
  | "aborting"
  | "in-doubt"
  | "done"
  | "aborted";

/** How a participant votes; derived from its strategy's capabilities when the transaction begins. */
export type ParticipantKind = "two-phase" | "reversible" | "irreversible" | "in-place";

/**
 * - `waiting`: nothing is recorded. Its prepare may have begun.
 * - `prepared`: its prepare returned.
 * - `unchanged`: it has nothing to land.
 * - `started`: (one-phase) its commit has begun.
 * - `committed`: (one-phase) its commit returned; (two-phase) commitPrepared returned.
 * - `undone`: taken back.
 * - `not-undone`: could not be taken back, for the reason in `message`.
 */
export type ParticipantStatus =
  | "waiting"
  | "prepared"
  | "unchanged"
  | "started"
  | "committed"
  | "undone"
  | "not-undone";

export interface Participant {
  readonly ref: SandboxRef;
  /** The resource's name, for messages. */
  readonly resource: string;
  readonly kind: ParticipantKind;
  readonly status: ParticipantStatus;
  /** The patterns of the paths that land; absent: all. */
  readonly only?: readonly string[];
  /** Exactly the changes that land, where `only` names them for people. */
  readonly exactly?: ExactPart;
  /** The patterns of the paths that may land although tools run them by themselves. */
  readonly allow?: readonly string[];
  /** What a policy protects of it. */
  readonly protect?: Protection;
  /** It is two-phase, but can't be taken back once it has landed. */
  readonly isFinal?: true;
  readonly prepared?: PreparedCommit;
  /** For an undo: what the landed transaction had prepared. */
  readonly undoes?: PreparedCommit;
  /** How many changes landed. */
  readonly changes?: number;
  readonly attention?: readonly Attention[];
  /** Why it is not undone. */
  readonly message?: string;
}

/** Whether a transaction still has to be finished or taken back. */
export function isUnfinished({ phase }: TransactionRecord): boolean {
  return phase !== "done" && phase !== "aborted";
}

/** The landed commits among these that were not undone, in their order. */
export function landingsAmong(transactions: readonly TransactionRecord[]): readonly TransactionRecord[] {
  return transactions.filter(
    ({ direction, phase, undoRecord }) =>
      direction === "commit" && (phase === "done" || phase === "landed") && undoRecord !== "used",
  );
}

/** The participants of a landed commit that no undo can take back. */
export function irreversibleIn({ participants }: TransactionRecord): readonly Participant[] {
  return participants.filter(
    ({ kind, status, isFinal }) =>
      kind === "in-place" || (status === "committed" && (kind === "irreversible" || isFinal === true)),
  );
}

/** Those that an undo takes back. */
export function reversibleIn(landed: TransactionRecord): readonly Participant[] {
  const stuck = irreversibleIn(landed);
  return landed.participants.filter(
    (participant) => participant.status === "committed" && !stuck.includes(participant),
  );
}

/** Whether something stays in an original because of a landed commit, as far as is known. */
export function changesOriginals(landed: TransactionRecord): boolean {
  return reversibleIn(landed).length + irreversibleIn(landed).length > 0;
}

/** Whether the participant's folder keeps changes of another writer. */
export function keepsForeignWork({ attention }: Participant): boolean {
  return attention?.some(({ keptAt }) => keptAt !== undefined) === true;
}
