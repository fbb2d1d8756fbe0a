import type { OnePhaseCapabilities, TwoPhaseCapabilities } from "./capabilities.ts";
import type { Change, DiffView, TakeChange } from "./change.ts";
import type { LastCheckpoint, SavedCheckpoint } from "./checkpoint.ts";
import type { PlainRecord, Resource } from "./resource/resource.ts";
import type { SandboxRef } from "./sandbox.ts";
import type { Enterable, Probing, Queryable, Reachable } from "./strategy-abilities.ts";
import type { GitPolicy, LandingPolicy, TransactionPolicy } from "./strategy-policies.ts";

/**
 * # The contract of a sandbox strategy
 *
 * A strategy knows one way to isolate a resource: it makes a *sandbox*, a place where work can be done
 * without touching the original, and it lands that work in the original or throws it away. There is no other
 * protocol: the built-in strategies implement exactly this.
 *
 * What it declares as `capabilities.commit` says which of two interfaces it implements:
 * `TwoPhaseSandboxStrategy`, with which work lands together with that of others, or
 * `OnePhaseSandboxStrategy`, whose `commit` is all that there is. `Metadata` is what it keeps in its refs,
 * `Prepared` what its `prepare` tells its `commitPrepared`: plain data, each a `type` of the strategy's own.
 *
 * ## Life
 * ```
 * const ref = await strategy.create(planId, resource);          // the original is untouched from here …
 * await strategy.write(ref, "src/app.ts", bytes);
 * const view = await strategy.diff(ref);
 * const prepared = await strategy.prepare(ref, transaction);    // everything that can fail happens here …
 * await strategy.commitPrepared(ref, transaction, prepared);    // … so that this can't: the work has landed
 * await strategy.cleanup(ref);                                  // nothing is left
 * ```
 *
 * ## Rules
 * - All methods are asynchronous, take and return plain data, and may be called by another process than the
 *   one that called `create`: whatever they need to know is in the ref or where the ref points.
 * - All may be called again after a crash in the middle. A second `create` of a finished sandbox throws
 *   `SandboxStateError`; of an unfinished one it starts over.
 * - No method changes the original but `commit`, `commitPrepared` and `rollback`.
 * - `context.recordIntent(ref)` is called with the ref that `create` is going to return *before* anything
 *   exists in the world, so that `cleanup(ref)` can remove it after a crash.
 * - Paths are relative to the resource, "." is its root; see byte-path.ts. One that leads outside is refused
 *   by throwing.
 */
export type SandboxStrategy<
  Metadata extends PlainRecord = PlainRecord,
  Prepared extends PlainRecord = PlainRecord,
> = OnePhaseSandboxStrategy<Metadata> | TwoPhaseSandboxStrategy<Metadata, Prepared>;

/** What every strategy has. The abilities that it may have in addition are in strategy-abilities.ts. */
export interface SandboxMethods<Metadata extends PlainRecord, Prepared extends PlainRecord>
  extends Partial<Queryable<Metadata>>,
    Partial<Reachable<Metadata>>,
    Partial<Enterable<Metadata>>,
    Partial<Probing> {
  /** The name it is registered by. One that a config declares is registered by the name that it has there. */
  readonly name: string;
  /**
   * Stands for what its sandboxes are made of. To be changed when sandboxes that were made before can't be
   * used any more: a sandbox of another version is only rolled back or removed.
   */
  readonly version?: string;

  /**
   * Makes a sandbox. May take as long as a copy of the resource, in which nothing lands meanwhile; but other
   * processes may make sandboxes of the same resource at the same time. Fails by `SandboxCreationError`,
   * leaving nothing behind.
   */
  create(planId: string, resource: Resource): Promise<SandboxRef<Metadata>>;

  /** The content of one file in the sandbox. Fails if there is none. */
  read(ref: SandboxRef<Metadata>, path: string): Promise<Uint8Array>;

  /**
   * Writes one file in the sandbox, making missing folders. Returns what that did, compared with the sandbox
   * before.
   */
  write(ref: SandboxRef<Metadata>, path: string, bytes: Uint8Array): Promise<Change>;

  /**
   * Everything that differs from the original. Changes nothing. A strategy that finds one change after the
   * other may hand each to `take` and leave it out of the view, because there may be more of them than fit
   * into memory. Drydock gives `take` only to its own strategies.
   */
  diff(ref: SandboxRef<Metadata>, take?: TakeChange): Promise<DiffView>;

  /**
   * Lands the work in the original by itself, outside of any plan's commit. Fails by `SandboxConflictError`
   * or `SandboxCommitError`.
   */
  commit(ref: SandboxRef<Metadata>): Promise<CommitResult>;

  /**
   * Ends with the original as it was before any commit of this sandbox, finished or half done, and with no
   * work in the sandbox, which is usable again. Parts that have landed (`Transaction.only`) stay landed: the
   * work that is thrown away is the rest. Fails by `SandboxRollbackError`.
   */
  rollback(ref: SandboxRef<Metadata>): Promise<void>;

  /**
   * Saves the state of the sandbox under this id, exactly, and durably. `last` is the checkpoint before, if
   * that is still there, with the mark that was returned for it: a strategy that can tell that the sandbox is
   * still in that state may save nothing, and say so by `isSame`.
   */
  checkpoint(
    ref: SandboxRef<Metadata>,
    checkpointId: string,
    last?: LastCheckpoint,
  ): Promise<SavedCheckpoint | undefined>;

  /**
   * Brings the sandbox back to that state: what was added since is gone, what was deleted is back.
   * Repeatable, and also possible after another restore that was cut off or failed.
   */
  restoreCheckpoint(ref: SandboxRef<Metadata>, checkpointId: string): Promise<void>;

  /**
   * Removes everything that was made for the sandbox, but for what an undo of a landed commit needs. Never
   * touches the original.
   */
  cleanup(ref: SandboxRef<Metadata>): Promise<void>;

  /**
   * Removes what was saved under this id, whole or half, if it is there. Without it, what was saved goes with
   * the sandbox.
   */
  discardCheckpoint?(ref: SandboxRef<Metadata>, checkpointId: string): Promise<void>;

  /**
   * Drops what an undo of this landed transaction would need. Called when the commit is settled for good.
   * A strategy without it gives everything up in `cleanup`.
   */
  discardUndo?(
    ref: SandboxRef<Metadata>,
    transaction: Transaction<Prepared>,
    prepared: PreparedCommit<Prepared>,
  ): Promise<void>;

  /** Environment variables that a command inside the sandbox needs. */
  environment?(ref: SandboxRef<Metadata>): Promise<{ readonly [name: string]: string }>;

  /**
   * The content of one file as the original had it when the sandbox was made, for showing a diff; undefined
   * if there was none, or it is gone.
   */
  readOriginal?(ref: SandboxRef<Metadata>, path: string): Promise<Uint8Array | undefined>;

  /**
   * What the user should know of this sandbox, a line each: how long it lasts, what can't be done with it.
   */
  notes?(ref: SandboxRef<Metadata>): Promise<readonly string[]>;
}

/**
 * A strategy whose work lands in one step, `commit`, or has landed already because the original itself is
 * worked on. With `undo` it can be taken back by `rollback`; without, at most one takes part in a commit, and
 * it goes last.
 */
export interface OnePhaseSandboxStrategy<Metadata extends PlainRecord = PlainRecord>
  extends SandboxMethods<Metadata, PlainRecord> {
  readonly capabilities: OnePhaseCapabilities;
}

/**
 * A strategy whose work lands together with that of any others.
 *
 * After `prepare` has returned, `commitPrepared` must be able to finish, in any process, after any number of
 * crashes. All three are idempotent. In the `undo` direction the same three take back the commit that
 * `transaction.undoes` names.
 */
export interface TwoPhaseSandboxStrategy<
  Metadata extends PlainRecord = PlainRecord,
  Prepared extends PlainRecord = PlainRecord,
> extends SandboxMethods<Metadata, Prepared> {
  readonly capabilities: TwoPhaseCapabilities;

  /**
   * Does everything that can fail. `null` means that there is nothing to land. Until commitPrepared the
   * original is untouched.
   */
  prepare(
    ref: SandboxRef<Metadata>,
    transaction: Transaction<Prepared>,
  ): Promise<PreparedCommit<Prepared> | null>;

  /** Lands what was prepared. */
  commitPrepared(
    ref: SandboxRef<Metadata>,
    transaction: Transaction<Prepared>,
    prepared: PreparedCommit<Prepared>,
  ): Promise<CommitResult>;

  /**
   * Takes prepare back: the work is in the sandbox again. Also called when prepare never returned, then
   * without `prepared`; and, when a person gives up a landing that can't finish, after commitPrepared has
   * begun: then the original gets back what it had, and what a rival made of it since is kept and returned.
   * May be called again, and then says the same.
   */
  rollbackPrepared(
    ref: SandboxRef<Metadata>,
    transaction: Transaction<Prepared>,
    prepared?: PreparedCommit<Prepared>,
  ): Promise<readonly Attention[] | undefined>;
}

/** What a prepare, commit or undo belongs to. */
export interface Transaction<Prepared extends PlainRecord = PlainRecord> {
  readonly id: string;
  readonly planId: string;
  readonly direction: "commit" | "undo";
  readonly message?: string;
  /**
   * The user's word that the work may land though the machine was restarted since, and what was not on disk
   * then may be missing.
   */
  readonly afterRestart?: boolean;
  /**
   * Only what these patterns (path-patterns.ts) mean lands, by whole entries; the rest stays in the sandbox
   * and can land later, or more of it. Given only to a strategy that declares `partial`, and only to prepare.
   * After such a commit, and after its undo, the sandbox shows what it showed before. A rollback leaves what
   * has landed so where it is.
   */
  readonly only?: readonly string[];
  /**
   * The user's word: what these patterns (path-patterns.ts) mean may land though tools run it by themselves
   * (self-running-rules.ts). Given only to prepare, and only where there is such a word. What else tools run
   * by themselves is refused: by a strategy of Drydock's own in prepare, for another one by Drydock, from its
   * diff.
   */
  readonly allow?: readonly string[];
  /**
   * For an undo: the landed transaction that is taken back, and what this strategy's prepare had returned for
   * it.
   */
  readonly undoes?: { readonly id: string; readonly prepared: PreparedCommit<Prepared> };
}

/** What a prepare has to say to the commitPrepared of another process. Kept in the journal. */
export interface PreparedCommit<Prepared extends PlainRecord = PlainRecord> {
  /** How many changes will land. */
  readonly changes: number;
  /** The strategy's own plain data. */
  readonly data: Prepared;
  /** What the user should know before it lands. */
  readonly warnings?: readonly string[];
}

/**
 * Something that landed but that a person should look at: a rival's change that was kept, a path that could
 * not be followed.
 */
export interface Attention {
  readonly path: string;
  readonly message: string;
  /** Where the rival's version is kept. */
  readonly keptAt?: string;
}

/** What a commit did. */
export interface CommitResult {
  readonly changes: number;
  readonly attention: readonly Attention[];
}

/** How far a long piece of work has come. */
export interface Progress {
  /** What is being done, in the user's words: "copying", "landing". */
  readonly task: string;
  readonly done: number;
  /** Absent while it is not known. */
  readonly total?: number;
}

/**
 * What a strategy gets from outside, as the first argument of its constructor. Options that a config gives
 * are the second.
 */
export interface StrategyContext {
  /**
   * Where Drydock keeps its own things; a strategy makes its own below it, or beside the original where
   * renames must work.
   */
  readonly stateDir: string;
  /** May set-id files and device nodes made inside a sandbox land? */
  readonly policy: LandingPolicy;
  /** Records durably that this sandbox is about to exist at these places. */
  recordIntent(ref: SandboxRef, places: readonly IntendedPlace[]): Promise<void>;
  /**
   * Every step of a strategy that touches the world passes one, by a name of its own; tests make the process
   * die there.
   */
  failpoint(name: string): void;
  now(): Date;
  progress(progress: Progress): void;
  /**
   * The user's environment, for a strategy that starts programs of his: where his settings are. Default:
   * nothing of it.
   */
  readonly environment?: { readonly [name: string]: string | undefined };
  /** What the user wants of git. Default: merge commits, no hooks, and a minute of silence. */
  readonly git?: GitPolicy;
  /** How long a transaction may be held open. Default: half an hour without use, and eight hours. */
  readonly transaction?: TransactionPolicy;
  /**
   * The passwords of a plan's resources, by resource: they are in no ref, location or record, and must get
   * into none. Default: none.
   */
  readonly secretsOf?: (planId: string) => { readonly [resourceId: string]: string };
  /**
   * Records that the work of a sandbox is gone, and why: it can then only be rolled back or removed. Default:
   * nobody takes note.
   */
  readonly recordLoss?: (ref: SandboxRef, why: string) => Promise<void>;
  /** Aborted when the user interrupts. A strategy looks at it in long work before the decision. */
  readonly signal: AbortSignal;
}

/** Something in the world that is going to be made. */
export interface IntendedPlace {
  /** "folder", "mount", "branch", "prepared transaction" … */
  readonly kind: string;
  readonly location: string;
}

/** Narrows by what the strategy declares; the registry has checked that the methods are there. */
export function isTwoPhase(strategy: SandboxStrategy): strategy is TwoPhaseSandboxStrategy {
  return strategy.capabilities.commit === "two-phase";
}
