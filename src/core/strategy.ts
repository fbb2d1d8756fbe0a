import type { OnePhaseCapabilities, TwoPhaseCapabilities } from "./capabilities.ts";
import type { Change, ChangeSide, DiffView, ExactPart, TakeChange } from "./change.ts";
import type { LastCheckpoint, SavedCheckpoint } from "./checkpoint.ts";
import type { PlainRecord, Resource } from "./resource/resource.ts";
import type { SandboxRef } from "./sandbox.ts";
import type { Protection } from "./self-running/protected-paths.ts";
import type {
  Browsable,
  Enterable,
  Inspectable,
  Mergeable,
  Probing,
  Queryable,
  Reachable,
  Receiving,
  Tabular,
} from "./strategy-abilities.ts";
import type { GitPolicy, LandingPolicy, TransactionPolicy } from "./strategy-policies.ts";
import type { MergePolicy } from "./values/merge.ts";

/**
 * # The contract of a sandbox strategy
 *
 * A strategy knows one way to isolate a resource: it makes a *sandbox*, a place where work can be done
 * without touching the original, and it lands that work in the original or throws it away. There is no other
 * protocol: the built-in strategies implement exactly this.
 *
 * `capabilities.commit` says which of two interfaces it implements: `TwoPhaseSandboxStrategy`, whose work
 * lands together with that of other sandboxes, or `OnePhaseSandboxStrategy`, which has only `commit`.
 * `Metadata` is the data that it keeps in its refs, `Prepared` the data that its `prepare` hands to its
 * `commitPrepared`: plain data, each a `type` of the strategy's own.
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
 *   one that called `create`: everything they need is in the ref or where the ref points.
 * - All may be called again after a crash during the call. A second `create` of a finished sandbox throws
 *   `SandboxStateError`; of an unfinished one it starts over.
 * - Only `commit`, `commitPrepared` and `rollback` change the original.
 * - `create` calls `context.recordIntent(ref)` with the ref that it is going to return *before* it makes
 *   anything, so that `cleanup(ref)` can remove it after a crash.
 * - Paths are relative to the resource, "." is its root; see byte-path.ts. A strategy throws on a path that
 *   leads outside.
 */
export type SandboxStrategy<
  Metadata extends PlainRecord = PlainRecord,
  Prepared extends PlainRecord = PlainRecord,
> = OnePhaseSandboxStrategy<Metadata> | TwoPhaseSandboxStrategy<Metadata, Prepared>;

/** The methods of every strategy. Further abilities are in strategy-abilities.ts. */
export interface SandboxMethods<Metadata extends PlainRecord, Prepared extends PlainRecord>
  extends Partial<Queryable<Metadata>>,
    Partial<Tabular<Metadata>>,
    Partial<Browsable<Metadata>>,
    Partial<Receiving<Metadata>>,
    Partial<Mergeable<Metadata>>,
    Partial<Inspectable<Metadata>>,
    Partial<Reachable<Metadata>>,
    Partial<Enterable<Metadata>>,
    Partial<Probing> {
  /** Its registered name. A strategy of a config is registered by its name there. */
  readonly name: string;
  /**
   * Identifies the format of its sandboxes. Change it when existing sandboxes can't be used any more: Drydock
   * only rolls back or removes a sandbox of another version.
   */
  readonly version?: string;

  /**
   * Makes a sandbox. May take as long as a copy of the resource; nothing lands meanwhile, but other processes
   * may make sandboxes of the same resource. Fails by `SandboxCreationError`, leaving nothing behind.
   */
  create(planId: string, resource: Resource): Promise<SandboxRef<Metadata>>;

  /** The content of one file in the sandbox. Fails if there is none. */
  read(ref: SandboxRef<Metadata>, path: string): Promise<Uint8Array>;

  /**
   * Writes one file in the sandbox, and missing folders. Returns the change, compared with the sandbox
   * before.
   */
  write(ref: SandboxRef<Metadata>, path: string, bytes: Uint8Array): Promise<Change>;

  /**
   * All differences from the original. Changes nothing. A strategy that finds changes one by one may hand
   * each to `take` and omit it from the view, because there may be more than fit into memory. Drydock gives
   * `take` only to its own strategies.
   */
  diff(ref: SandboxRef<Metadata>, take?: TakeChange): Promise<DiffView>;

  /**
   * Lands the work in the original by itself: in the commit of a plan, if the strategy is one-phase, else
   * outside of any. `facts` has the message of that commit. Fails by `SandboxConflictError` or
   * `SandboxCommitError`.
   */
  commit(ref: SandboxRef<Metadata>, facts?: CommitFacts): Promise<CommitResult>;

  /**
   * Ends with the original as it was before any commit of this sandbox, finished or half done, and with an
   * empty sandbox that is usable again. Parts that have landed (`Transaction.only`) stay landed; only the
   * rest of the work is thrown away. Fails by `SandboxRollbackError`.
   */
  rollback(ref: SandboxRef<Metadata>): Promise<void>;

  /**
   * Saves the state of the sandbox under this id, exactly and durably. `last` is the checkpoint before, if it
   * still exists, with the mark returned for it: a strategy that can tell that the sandbox is still in that
   * state may save nothing, and return `isSame`.
   */
  checkpoint(
    ref: SandboxRef<Metadata>,
    checkpointId: string,
    last?: LastCheckpoint,
  ): Promise<SavedCheckpoint | undefined>;

  /**
   * Brings the sandbox back to that state: entries added since are gone, deleted ones are back. Repeatable,
   * and possible after another restore that was cut off or failed.
   */
  restoreCheckpoint(ref: SandboxRef<Metadata>, checkpointId: string): Promise<void>;

  /**
   * Removes everything made for the sandbox, except what an undo of a landed commit needs. Never touches the
   * original.
   */
  cleanup(ref: SandboxRef<Metadata>): Promise<void>;

  /**
   * Removes the data saved under this id, complete or partial, if there is any. Without this method, saved
   * data goes with the sandbox.
   */
  discardCheckpoint?(ref: SandboxRef<Metadata>, checkpointId: string): Promise<void>;

  /**
   * Drops what an undo of this landed transaction would need. Called when the commit is settled for good. A
   * strategy without this method drops everything in `cleanup`.
   */
  discardUndo?(
    ref: SandboxRef<Metadata>,
    transaction: Transaction<Prepared>,
    prepared: PreparedCommit<Prepared>,
  ): Promise<void>;

  /**
   * Everything that this landed transaction changed, in path order, told from what an undo would need.
   * Without this method only the number of changes is known.
   */
  landed?(
    ref: SandboxRef<Metadata>,
    transaction: Transaction<Prepared>,
    prepared: PreparedCommit<Prepared>,
  ): Promise<readonly Change[]>;

  /**
   * The content of one file before a landed transaction, or after it; undefined if there was none, or it is
   * gone: another writer may have changed the file since.
   */
  readLanded?(
    ref: SandboxRef<Metadata>,
    path: string,
    landed: LandedSide<Prepared>,
  ): Promise<Uint8Array | undefined>;

  /** Environment variables that a command inside the sandbox needs. */
  environment?(ref: SandboxRef<Metadata>): Promise<{ readonly [name: string]: string }>;

  /**
   * The content of one file of the original when the sandbox was made, for showing a diff; undefined if there
   * was no such file, or its content is gone.
   */
  readOriginal?(ref: SandboxRef<Metadata>, path: string): Promise<Uint8Array | undefined>;

  /** Notes on this sandbox for the user, a line each: how long it lasts, what it can't do. */
  notes?(ref: SandboxRef<Metadata>): Promise<readonly string[]>;
}

/**
 * A strategy whose work lands in one step, `commit`, or has landed already because it happens in the original
 * itself. With `undo`, `rollback` takes it back; without, at most one takes part in a commit, and it goes
 * last.
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
   * Does everything that can fail. Returns `null` if there is nothing to land. The original is untouched
   * until commitPrepared.
   */
  prepare(
    ref: SandboxRef<Metadata>,
    transaction: Transaction<Prepared>,
  ): Promise<PreparedCommit<Prepared> | null>;

  /** Lands the prepared work. */
  commitPrepared(
    ref: SandboxRef<Metadata>,
    transaction: Transaction<Prepared>,
    prepared: PreparedCommit<Prepared>,
  ): Promise<CommitResult>;

  /**
   * Takes prepare back: the work is in the sandbox again. Also called, without `prepared`, when prepare never
   * returned; and after commitPrepared has begun, when a person gives up a landing that can't finish: then
   * the original gets back its content, and changes that another writer made since are kept and returned. May
   * be called again, and then answers the same.
   */
  rollbackPrepared(
    ref: SandboxRef<Metadata>,
    transaction: Transaction<Prepared>,
    prepared?: PreparedCommit<Prepared>,
  ): Promise<readonly Attention[] | undefined>;
}

/** The transaction of a prepare, commit or undo. */
export interface Transaction<Prepared extends PlainRecord = PlainRecord> {
  readonly id: string;
  readonly planId: string;
  readonly direction: "commit" | "undo";
  readonly message?: string;
  /** For a git checkout: one commit takes the place of those that were made in the sandbox. */
  readonly squash?: boolean;
  /**
   * The user's word that the work may land although the machine was restarted, and work that was not on disk
   * may be missing.
   */
  readonly afterRestart?: boolean;
  /**
   * Only entries that these patterns (path-patterns.ts) choose land, each as a whole; the rest stays in the
   * sandbox and can land later. Given only to a strategy that declares `partial`, and only to prepare. After
   * such a commit, and after its undo, the sandbox shows the same as before. A rollback leaves landed parts
   * in place.
   */
  readonly only?: readonly string[];
  /**
   * With `only`, which is then only for people to read: exactly these changes land. Given only to Drydock's
   * own strategies.
   */
  readonly exactly?: ExactPart;
  /**
   * The user's word: entries that these patterns (path-patterns.ts) choose may land although tools run them
   * by themselves (self-running-rules.ts). Given only to prepare, and only if there is such a word. All other
   * self-running files are refused: by Drydock's own strategies in prepare, and for custom strategies by
   * Drydock, from their diff.
   */
  readonly allow?: readonly string[];
  /** What a policy protects. Given only to prepare, and only to Drydock's own strategies. */
  readonly protect?: Protection;
  /**
   * The commit ends before its decision, and this prepare is taken back in any case. A strategy that can't
   * take it back exactly only checks what it can, and says in `warnings` what is left to the real one. Given
   * only to prepare.
   */
  readonly dryRun?: true;
  /** For an undo: the landed transaction that it takes back, with the result of this strategy's prepare. */
  readonly undoes?: { readonly id: string; readonly prepared: PreparedCommit<Prepared> };
}

/** The result of a prepare, for the commitPrepared of another process. Kept in the journal. */
export interface PreparedCommit<Prepared extends PlainRecord = PlainRecord> {
  /** How many changes will land. */
  readonly changes: number;
  /** The strategy's own plain data. */
  readonly data: Prepared;
  /** Warnings for the user before it lands. */
  readonly warnings?: readonly string[];
}

/**
 * A point of a landing that a person should look at: a kept change of another writer, a path that could not
 * be followed.
 */
export interface Attention {
  readonly path: string;
  readonly message: string;
  /** Where the other writer's version is kept. */
  readonly keptAt?: string;
}

/** One side of what a transaction landed. */
export interface LandedSide<Prepared extends PlainRecord = PlainRecord> {
  readonly transaction: Transaction<Prepared>;
  readonly prepared: PreparedCommit<Prepared>;
  readonly side: ChangeSide;
}

/** What a one-phase strategy learns of the commit of a plan. */
export type CommitFacts = Pick<Transaction, "message">;

/** The result of a commit. */
export interface CommitResult {
  readonly changes: number;
  readonly attention: readonly Attention[];
}

/** The progress of long work. */
export interface Progress {
  /** The task in the user's words: "copying", "landing". */
  readonly task: string;
  readonly done: number;
  /** Absent while unknown. */
  readonly total?: number;
  /** The call that it belongs to, as Drydock adds it: "apply". */
  readonly operation?: string;
  readonly planId?: string;
  /** The name of the resource. */
  readonly resource?: string;
}

/**
 * What a strategy gets from Drydock, as the first argument of its constructor. Options from a config are the
 * second.
 */
export interface StrategyContext {
  /**
   * Drydock's state directory. A strategy makes its own files below it, or beside the original where renames
   * must work.
   */
  readonly stateDir: string;
  /** May set-id files and device nodes made inside a sandbox land? */
  readonly policy: LandingPolicy;
  /** Records durably that this sandbox is about to exist at these places. */
  recordIntent(ref: SandboxRef, places: readonly IntendedPlace[]): Promise<void>;
  /**
   * Every step of a strategy that touches the world passes a failpoint with a name of its own; tests kill the
   * process there.
   */
  failpoint(name: string): void;
  now(): Date;
  progress(progress: Progress): void;
  /** The user's environment, for a strategy that starts the user's programs. Default: empty. */
  readonly environment?: { readonly [name: string]: string | undefined };
  /** The user's settings for git. Default: merge commits, no hooks, and a minute of silence. */
  readonly git?: GitPolicy;
  /** How much of a changed file is kept, so that an update can merge it. Default: a mebibyte. */
  readonly merge?: MergePolicy;
  /** How long a transaction may be held open. Default: half an hour without use, and eight hours. */
  readonly transaction?: TransactionPolicy;
  /**
   * The passwords of a plan's resources, by resource id. No ref, location or record holds them, or may.
   * Default: none.
   */
  readonly secretsOf?: (planId: string) => { readonly [resourceId: string]: string };
  /**
   * Records that the work of a sandbox is lost, and why: it can then only be rolled back or removed. Default:
   * nothing is recorded.
   */
  readonly recordLoss?: (ref: SandboxRef, why: string) => Promise<void>;
  /**
   * Whether the commands inside of a plan stand still for the present call, and go on with its sandboxes
   * afterwards. Only for what a strategy declares as `whileRunning`. Default: no.
   */
  readonly standsStill?: (planId: string) => boolean;
  /**
   * Aborted when the user interrupts. A strategy checks it in long work before the decision. Every call has
   * its own, so read it during the call.
   */
  readonly signal: AbortSignal;
}

/** A place in the world that is about to be made. */
export interface IntendedPlace {
  /** "folder", "mount", "branch", "prepared transaction" … */
  readonly kind: string;
  readonly location: string;
}

/** Narrows by the declared capability; the registry has checked that the methods exist. */
export function isTwoPhase(strategy: SandboxStrategy): strategy is TwoPhaseSandboxStrategy {
  return strategy.capabilities.commit === "two-phase";
}
