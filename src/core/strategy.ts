import type { StrategyCapabilities } from "./capabilities.ts";
import type { Change, DiffView, TakeChange } from "./change.ts";
import type { StatementResult } from "./query.ts";
import type { PlainData, Resource } from "./resource.ts";
import type { SandboxRef } from "./sandbox.ts";

/**
 * # The contract of a sandbox strategy
 *
 * A strategy knows one way to isolate a resource: it makes a *sandbox*, a place where work can be done without touching the original, and
 * it lands that work in the original or throws it away. There is no other protocol: the built-in strategies implement exactly this.
 *
 * ## Life
 * ```
 * const ref = await strategy.create(planId, resource);          // the original is untouched from here …
 * await strategy.write(ref, "src/app.ts", bytes);
 * const view = await strategy.diff(ref);
 * const prepared = await strategy.prepare(ref, transaction);    // everything that can fail happens here …
 * await strategy.commitPrepared(ref, transaction, prepared);    // … so that this can't: the work is in the original
 * await strategy.cleanup(ref);                                  // nothing is left
 * ```
 *
 * ## Rules
 * - All methods are asynchronous, take and return plain data, and may be called by another process than the one that called `create`:
 *   whatever they need to know is in the ref or where the ref points.
 * - All may be called again after a crash in the middle. A second `create` of a finished sandbox throws `SandboxStateError`;
 *   of an unfinished one it starts over.
 * - No method changes the original but `commit`, `commitPrepared` and `rollback`.
 * - `context.recordIntent(ref)` is called with the ref that `create` is going to return *before* anything exists in the world, so that
 *   `cleanup(ref)` can remove it after a crash.
 * - Paths are relative to the resource, "." is its root; see byte-path.ts. One that leads outside is refused by throwing.
 */
export interface SandboxStrategy {
  /** The name it is registered by. One that a config declares is registered by the name that it has there. */
  readonly name: string;
  readonly capabilities: StrategyCapabilities;
  /**
   * Stands for what its sandboxes are made of. To be changed when sandboxes that were made before can't be used any more: a sandbox of
   * another version is only rolled back or removed.
   */
  readonly version?: string;

  /**
   * Makes a sandbox. May take as long as a copy of the resource, in which nothing lands meanwhile; but other processes may make sandboxes of the
   * same resource at the same time. Fails by `SandboxCreationError`, leaving nothing behind.
   */
  create(planId: string, resource: Resource): Promise<SandboxRef>;

  /** The content of one file in the sandbox. Fails if there is none. */
  read(ref: SandboxRef, path: string): Promise<Uint8Array>;

  /** Writes one file in the sandbox, making missing folders. Returns what that did, compared with the sandbox before. */
  write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change>;

  /**
   * Runs the statements of a script in the sandbox of a database and returns what each gave. Fails by `StatementError` if one
   * fails; unless the script is about transactions itself, nothing of it is left then. With `readOnly` none may change anything.
   */
  query?(ref: SandboxRef, script: string, options: { readonly readOnly: boolean }): Promise<readonly StatementResult[]>;

  /**
   * Everything that differs from the original. Changes nothing. A strategy that finds one change after the other may hand
   * each to `take` and leave it out of the view, because there may be more of them than fit into memory. Drydock gives
   * `take` only to its own strategies.
   */
  diff(ref: SandboxRef, take?: TakeChange): Promise<DiffView>;

  /** Lands the work in the original by itself, outside of any plan's commit. Fails by `SandboxConflictError` or `SandboxCommitError`. */
  commit(ref: SandboxRef): Promise<CommitResult>;

  /**
   * Ends with the original as it was before any commit of this sandbox, finished or half done, and with no work in the sandbox, which is
   * usable again. Parts that have landed (`Transaction.only`) stay landed: the work that is thrown away is the rest. Fails by `SandboxRollbackError`.
   */
  rollback(ref: SandboxRef): Promise<void>;

  /**
   * Saves the state of the sandbox under this id, exactly, and durably. `last` is the checkpoint before, if that is still there, with the mark
   * that was returned for it: a strategy that can tell that the sandbox is still in that state may save nothing, and say so by `isSame`.
   */
  checkpoint(ref: SandboxRef, checkpointId: string, last?: LastCheckpoint): Promise<MaybeSaved>;

  /**
   * Brings the sandbox back to that state: what was added since is gone, what was deleted is back. Repeatable, and also possible after another
   * restore that was cut off or failed.
   */
  restoreCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void>;

  /** Removes everything that was made for the sandbox, but for what an undo of a landed commit needs. Never touches the original. */
  cleanup(ref: SandboxRef): Promise<void>;

  /** Removes what was saved under this id, whole or half, if it is there. Without it, what was saved goes with the sandbox. */
  discardCheckpoint?(ref: SandboxRef, checkpointId: string): Promise<void>;

  /**
   * Drops what an undo of this landed transaction would need. Called when the commit is settled for good.
   * A strategy without it gives everything up in `cleanup`.
   */
  discardUndo?(ref: SandboxRef, transaction: Transaction, prepared: PreparedCommit): Promise<void>;

  /** Where programs find the sandbox: a folder or a connection URL. What that takes (a mount) is made, and stays until the work lands or goes. */
  path?(ref: SandboxRef): Promise<string>;

  /**
   * Called before a program is started inside by `run`; makes what programs need. May be called again while others are inside. Where it is
   * absent, `run` shows what is at `path`.
   */
  enter?(ref: SandboxRef): Promise<ProgramView>;

  /** Called when the last program that was started inside has ended: what `enter` made goes. */
  leave?(ref: SandboxRef): Promise<void>;

  /** Environment variables that a command inside the sandbox needs. */
  environment?(ref: SandboxRef): Promise<{ readonly [name: string]: string }>;

  /** The content of one file as the original had it when the sandbox was made, for showing a diff; undefined if there was none, or it is gone. */
  readOriginal?(ref: SandboxRef, path: string): Promise<Uint8Array | undefined>;

  /** What the user should know of this sandbox, a line each: how long it lasts, what can't be done with it. */
  notes?(ref: SandboxRef): Promise<readonly string[]>;

  /** Whether this strategy works on this machine for this resource, with the reason if not. Leaves nothing behind. */
  probe?(resource: Resource): Promise<ProbeResult>;

  /** The ways in which it can work, the best first, and which of them do on this machine: what `doctor` shows of it. */
  ways?(): Promise<readonly StrategyWay[]>;
}

/**
 * What a strategy whose `capabilities.commit` is `two-phase` has in addition.
 *
 * After `prepare` has returned, `commitPrepared` must be able to finish, in any process, after any number of crashes. All three are
 * idempotent. In the `undo` direction the same three take back the commit that `transaction.undoes` names.
 */
export interface TwoPhaseSandboxStrategy extends SandboxStrategy {
  /** Does everything that can fail. `null` means that there is nothing to land. Until commitPrepared the original is untouched. */
  prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null>;

  /** Lands what was prepared. */
  commitPrepared(ref: SandboxRef, transaction: Transaction, prepared: PreparedCommit): Promise<CommitResult>;

  /**
   * Takes prepare back: the work is in the sandbox again. Also called when prepare never returned, then without `prepared`; and, when a
   * person gives up a landing that can't finish, after commitPrepared has begun: then the original gets back what it had, and what a rival
   * made of it since is kept and returned. May be called again, and then says the same.
   */
  rollbackPrepared(ref: SandboxRef, transaction: Transaction, prepared?: PreparedCommit): Promise<TakenBack>;
}

/** What a prepare, commit or undo belongs to. */
export interface Transaction {
  readonly id: string;
  readonly planId: string;
  readonly direction: "commit" | "undo";
  readonly message?: string;
  /** The user's word that the work may land though the machine was restarted since, and what was not on disk then may be missing. */
  readonly afterRestart?: boolean;
  /**
   * Only what these patterns (path-patterns.ts) mean lands, by whole entries; the rest stays in the sandbox and can land later, or more of it. Given only to a
   * strategy that declares `partial`, and only to prepare. After such a commit, and after its undo, the sandbox shows what it showed before. A rollback leaves what has
   * landed so where it is.
   */
  readonly only?: readonly string[];
  /**
   * The user's word: what these patterns (path-patterns.ts) mean may land though tools run it by themselves (self-running-rules.ts). Given only to prepare, and only where there
   * is such a word. What else tools run by themselves is refused: by a strategy of Drydock's own in prepare, for another one by Drydock, from its diff.
   */
  readonly allow?: readonly string[];
  /** For an undo: the landed transaction that is taken back, and what this strategy's prepare had returned for it. */
  readonly undoes?: { readonly id: string; readonly prepared: PreparedCommit };
}

/** What a prepare has to say to the commitPrepared of another process. Kept in the journal. */
export interface PreparedCommit {
  /** How many changes will land. */
  readonly changes: number;
  /** The strategy's own plain data. */
  readonly data: { readonly [key: string]: PlainData };
  /** What the user should know before it lands. */
  readonly warnings?: readonly string[];
}

/** Something that landed but that a person should look at: a rival's change that was kept, a path that could not be followed. */
export interface Attention {
  readonly path: string;
  readonly message: string;
  /** Where the rival's version is kept. */
  readonly keptAt?: string;
}

/** What a strategy has to say when it took something back: nearly always nothing. */
// biome-ignore lint/suspicious/noConfusingVoidType: a method that returns nothing is meant
export type TakenBack = readonly Attention[] | void;

/** A checkpoint that is there. */
export interface LastCheckpoint {
  readonly id: string;
  /** What was returned as its mark. */
  readonly mark: string;
}

/** What a strategy has to say of a checkpoint. All of it may be left out. */
export interface SavedCheckpoint {
  /** Stands for the state that was saved: a sandbox for which the same mark is found later is in the same state. */
  readonly mark?: string;
  /** The size of what was saved. */
  readonly bytes?: number;
  /** The state is that of the last checkpoint, and nothing was saved. */
  readonly isSame?: boolean;
}

// biome-ignore lint/suspicious/noConfusingVoidType: a method that returns nothing is meant
export type MaybeSaved = SavedCheckpoint | void;

/** What a commit did. */
export interface CommitResult {
  readonly changes: number;
  readonly attention: readonly Attention[];
}

/** How a program comes to see a sandbox in the place of the original. */
export type ProgramView = PlaceView | LayersView;

/** Something of the host that is shown there by a bind mount. */
export interface PlaceView {
  readonly kind: "place";
  readonly path: string;
  /** If the resource is a single file and the whole folder around it is to be shown, so that programs can save by rename: its name. */
  readonly only?: string;
  /** It is shown where it is, and not in the place of the original, which then can't be changed. */
  readonly atOwnPath?: true;
  /** Other paths of the host that have to be seen there too, and can't be changed. */
  readonly refersTo?: readonly string[];
}

/** Layers of an overlay that who starts the program mounts in a namespace of his own, because nobody may on the host. */
export interface LayersView {
  readonly kind: "layers";
  readonly lower: string;
  /** A layer between the two that only hides names of the lower one, whatever becomes of them. */
  readonly hidden?: string;
  readonly upper: string;
  readonly work: string;
  /** The name that the mount is to be given, by which it is found in every namespace. */
  readonly source: string;
  readonly only?: string;
}

export type ProbeResult =
  | { readonly works: true; readonly note?: string }
  | { readonly works: false; readonly reason: string };

/** One of several ways in which a strategy can work. */
export interface StrategyWay {
  readonly name: string;
  readonly works: boolean;
  /** What it is, or why it does not work. */
  readonly detail: string;
}

/** How far a long piece of work has come. */
export interface Progress {
  /** What is being done, in the user's words: "copying", "landing". */
  readonly task: string;
  readonly done: number;
  /** Absent while it is not known. */
  readonly total?: number;
}

/** What a strategy gets from outside, as the first argument of its constructor. Options that a config gives are the second. */
export interface StrategyContext {
  /** Where Drydock keeps its own things; a strategy makes its own below it, or beside the original where renames must work. */
  readonly stateDir: string;
  /** May set-id files and device nodes made inside a sandbox land? */
  readonly policy: LandingPolicy;
  /** Records durably that this sandbox is about to exist at these places. */
  recordIntent(ref: SandboxRef, places: readonly IntendedPlace[]): Promise<void>;
  /** Every step of a strategy that touches the world passes one, by a name of its own; tests make the process die there. */
  failpoint(name: string): void;
  now(): Date;
  progress(progress: Progress): void;
  /** The user's environment, for a strategy that starts programs of his: where his settings are. Default: nothing of it. */
  readonly environment?: { readonly [name: string]: string | undefined };
  /** What the user wants of git. Default: merge commits, no hooks, and a minute of silence. */
  readonly git?: GitPolicy;
  /** How long a transaction may be held open. Default: half an hour without use, and eight hours. */
  readonly transaction?: TransactionPolicy;
  /** The passwords of a plan's resources, by resource: they are in no ref, location or record, and must get into none. Default: none. */
  readonly secretsOf?: (planId: string) => { readonly [resourceId: string]: string };
  /** Records that the work of a sandbox is gone, and why: it can then only be rolled back or removed. Default: nobody takes note. */
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

export interface GitPolicy {
  /** Where nobody has committed meanwhile, move the branch to the plan's own commits, without a merge commit. */
  readonly fastForward: boolean;
  /** Run the hooks of his repository when something lands. */
  readonly runHooks: boolean;
  /** For how long a git command may say nothing before it is ended. */
  readonly limitMilliseconds: number;
}

export interface TransactionPolicy {
  /** For how long nobody may use it. */
  readonly idleMilliseconds: number;
  /** For how long it may be open at all. */
  readonly ageMilliseconds: number;
}

export interface LandingPolicy {
  readonly allowSetid: boolean;
  readonly allowDevices: boolean;
}

/** Narrows by what the strategy declares; the registry has checked that the methods are there. */
export function isTwoPhase(strategy: SandboxStrategy): strategy is TwoPhaseSandboxStrategy {
  return strategy.capabilities.commit === "two-phase";
}
