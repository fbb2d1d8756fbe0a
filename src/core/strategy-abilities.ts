import type { Change, ExactPart } from "./change.ts";
import type { ProgramView } from "./program-view.ts";
import type { Entry } from "./resource/entry.ts";
import type { PlainRecord, Resource } from "./resource/resource.ts";
import type { SandboxRef } from "./sandbox.ts";
import type { ChangedRows, RowRange } from "./values/changed-rows.ts";
import type { Resolution, ResolveReport, UpdateReport } from "./values/merge.ts";
import type { StatementResult } from "./values/query.ts";

/**
 * Abilities that a strategy may have beyond the contract (strategy.ts), an interface for each. A strategy
 * declares an ability, and the compiler checks it: `class Mine implements OnePhaseSandboxStrategy,
 * Queryable`.
 */

/** The ability to run statements, in sandboxes of databases. */
export interface Queryable<Metadata extends PlainRecord = PlainRecord> {
  /**
   * Runs the statements of a script in the sandbox of a database and returns the result of each. Fails by
   * `StatementError` if one fails; then nothing of the script remains, unless it is about transactions
   * itself. With `readOnly` no statement may change anything.
   */
  query(
    ref: SandboxRef<Metadata>,
    script: string,
    options: { readonly readOnly: boolean },
  ): Promise<readonly StatementResult[]>;
}

/** The ability to show what changes in the tables of a database, as data. */
export interface Tabular<Metadata extends PlainRecord = PlainRecord> {
  /**
   * The changed rows and definitions at a path of the diff: of a table, of one row, or of another object.
   * Where a diff has statements, of the table that a statement changes. Values are cut (`ShownValue`).
   */
  changedRows(ref: SandboxRef<Metadata>, path: string, range: RowRange): Promise<ChangedRows>;
}

/** The ability to work on single entries of a sandbox, also where it has no path. */
export interface Browsable<Metadata extends PlainRecord = PlainRecord> {
  /** The entry at a path, as programs see it; undefined if there is none. Follows no link. */
  stat(ref: SandboxRef<Metadata>, path: string): Promise<Entry | undefined>;

  /** A page of the entries directly in a folder, in the order of their names. Fails if there is no folder. */
  list(ref: SandboxRef<Metadata>, path: string, page: ListedPage): Promise<readonly Entry[]>;

  /** Bytes of a file from `offset` on: `length` of them, or fewer at its end. */
  readPart(ref: SandboxRef<Metadata>, path: string, offset: number, length: number): Promise<Uint8Array>;

  /**
   * Writes one file like `write`, with the content of another file, which this process can open by this
   * path.
   */
  writeFrom(ref: SandboxRef<Metadata>, path: string, file: string): Promise<Change>;

  /** Makes a folder and those above it. Does nothing if it is there. */
  makeFolder(ref: SandboxRef<Metadata>, path: string): Promise<void>;

  /** Removes an entry with everything in it. Fails if there is none. */
  remove(ref: SandboxRef<Metadata>, path: string): Promise<void>;

  /**
   * Gives an entry another path, and makes missing folders above that. Fails if something is there. A crash
   * may leave the entry at both paths, and never at none.
   */
  rename(ref: SandboxRef<Metadata>, from: string, to: string): Promise<void>;
}

/** The ability to take over work that programs did before the resource joined the plan. */
export interface Receiving<Metadata extends PlainRecord = PlainRecord> {
  /**
   * Makes these changes, in this order, in a new sandbox. What they bring is below `folder`, which this
   * process can open. After a failure the sandbox is removed.
   */
  takeOver(ref: SandboxRef<Metadata>, folder: string, entries: readonly TakenEntry[]): Promise<void>;
}

/** One change that a sandbox takes over. */
export interface TakenEntry {
  /** Inside the resource. */
  readonly path: string;
  /**
   * `remove`: the entry is gone. `copy`: it is as at `from`, with everything in it. `folder`: it is a folder
   * with the owner and mode of the one at `from`, and what is in it stays.
   */
  readonly change: "remove" | "copy" | "folder";
  /** Where it is, below the folder. */
  readonly from?: string;
}

/** A page of a folder. */
export interface ListedPage {
  /** Only names that sort after this one. */
  readonly after?: string;
  /** How many entries at most. */
  readonly limit: number;
}

/**
 * The ability to bring into a sandbox what other writers have changed in the original since. Drydock has made
 * a checkpoint of the plan before `update` and `resolve`, and goes back to it if they fail or are cut off.
 */
export interface Mergeable<Metadata extends PlainRecord = PlainRecord> {
  /**
   * Keeps what a later update needs to know of the original, as long as the original still has it. Called
   * when the last program inside has ended.
   */
  keepBases(ref: SandboxRef<Metadata>): Promise<void>;

  /**
   * Merges the work with the original as it is now, as far as possible. What was merged lands without a
   * conflict, unless the original changes once more.
   */
  update(ref: SandboxRef<Metadata>): Promise<UpdateReport>;

  /**
   * Settles a path that an update marked or could not merge. If both versions are kept, the name of the
   * plan's own gets `~SUFFIX` added.
   */
  resolve(ref: SandboxRef<Metadata>, path: string, how: Resolution, suffix: string): Promise<ResolveReport>;

  /**
   * Takes these changes out of the sandbox, all or none: at these paths it shows the original again, and of
   * files with chosen hunks only these are gone.
   */
  takeOut(ref: SandboxRef<Metadata>, part: ExactPart): Promise<void>;
}

/** The ability to look into a checkpoint without a restore. Neither method changes anything. */
export interface Inspectable<Metadata extends PlainRecord = PlainRecord> {
  /**
   * All differences of the saved state from the original, in path order: what `diff` showed then. Fails if
   * there is no such checkpoint.
   */
  saved(ref: SandboxRef<Metadata>, checkpointId: string): Promise<readonly Change[]>;

  /** The saved content of a file among these changes; undefined if the checkpoint has none there. */
  readSaved?(ref: SandboxRef<Metadata>, path: string, checkpointId: string): Promise<Uint8Array | undefined>;
}

/** The ability to show a sandbox to programs of the host. */
export interface Reachable<Metadata extends PlainRecord = PlainRecord> {
  /**
   * Where programs find the sandbox: a folder or a connection URL. Makes what that takes, such as a mount,
   * which stays until the work lands or goes. Undefined if programs can't find it.
   */
  path(ref: SandboxRef<Metadata>): Promise<string | undefined>;
}

/** The ability to show a sandbox to a program by more than its path. */
export interface Enterable<Metadata extends PlainRecord = PlainRecord> {
  /**
   * Called before `run` starts a program inside; makes what programs need. May be called again while others
   * are inside. Without this method, `run` shows `path`. Of a resource that is no path of this machine, it
   * shows a place at its own path, read-only: a folder of sockets.
   */
  enter(ref: SandboxRef<Metadata>): Promise<ProgramView | undefined>;

  /** Called when the last program inside has ended: removes what `enter` made. */
  leave(ref: SandboxRef<Metadata>): Promise<void>;
}

/** The ability to say where it works. */
export interface Probing {
  /**
   * Whether this strategy works on this machine for this resource, with the reason if not. Leaves no trace.
   */
  probe(resource: Resource): Promise<ProbeResult>;

  /**
   * The mechanisms by which it can work, best first, and whether each works on this machine. `doctor` shows
   * them.
   */
  ways?(): Promise<readonly StrategyWay[]>;
}

export type ProbeResult =
  | { readonly works: true; readonly note?: string }
  | {
      readonly works: false;
      readonly reason: string;
      /** The strategy to use instead, where there is one that does nearly the same. */
      readonly instead?: string;
    };

/** One of several mechanisms of a strategy. */
export interface StrategyWay {
  readonly name: string;
  readonly works: boolean;
  /** A description, or why it does not work. */
  readonly detail: string;
}
