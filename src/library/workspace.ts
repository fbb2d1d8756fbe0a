import type { Change } from "../core/change.ts";
import type { Entry } from "../core/resource/entry.ts";
import type { StatementResult } from "../core/values/query.ts";
import type { DiffPage, DiffPageOptions } from "../plans/diff-page.ts";
import type { EntryList, ListOptions, ReadRange } from "../plans/entries/entry-views.ts";
import type { CheckpointOptions, CheckpointResult, RestoreResult } from "../plans/plan-views.ts";
import type { CaptureRequest, CaptureResult } from "../run/capture.ts";
import type { SpawnedCommand, SpawnRequest } from "../run/spawn.ts";
import type { CallOptions } from "./call-options.ts";

/** The content of a file: a text is written as UTF-8, a stream may be of any size. */
export type Content = string | Uint8Array | AsyncIterable<Uint8Array>;

/** The options of `run`: everything about a command but its words. */
export type RunOptions = Omit<CaptureRequest, "command">;

/** The options of `spawn`. */
export type SpawnOptions = Omit<SpawnRequest, "command">;

/**
 * Everything that a tool does in the sandbox of one resource of a plan: files, commands, checkpoints, the
 * diff. Works with every strategy and without privilege, also where a sandbox has no path. Paths are relative
 * to the resource, and any bytes (`pathFromBytes`); no link is followed. Each call can be aborted by its own
 * signal.
 */
export interface Workspace extends AsyncDisposable {
  readonly planId: string;

  /** The content of a file, or of a part of it. */
  readFile(path: string, options?: ReadRange & CallOptions): Promise<Uint8Array>;
  /** The same piece by piece, for files of any size. */
  readStream(path: string, options?: ReadRange & CallOptions): AsyncIterable<Uint8Array>;
  /** Writes a file, all of it or nothing, and makes missing folders. */
  writeFile(path: string, content: Content, options?: CallOptions): Promise<Change>;
  /** The entry at a path; undefined if there is none. */
  stat(path: string, options?: CallOptions): Promise<Entry | undefined>;
  /** A page of what is in a folder: depth first, in each folder by name. */
  list(path: string, options?: ListOptions & CallOptions): Promise<EntryList>;
  /** Removes an entry; a folder that is not empty only with `recursive`. */
  remove(path: string, options?: { readonly recursive?: boolean } & CallOptions): Promise<void>;
  /** Gives an entry another path, where nothing may be yet, and makes missing folders. */
  rename(from: string, to: string, options?: CallOptions): Promise<void>;
  /** Makes a folder and those above it. */
  makeFolder(path: string, options?: CallOptions): Promise<void>;

  /** Runs a command inside and captures its output. A command that fails is no failure of the call. */
  run(command: readonly string[], options?: RunOptions): Promise<CaptureResult>;
  /** Starts a command inside, and hands out its streams. `close` ends it. */
  spawn(command: readonly string[], options?: SpawnOptions): Promise<SpawnedCommand>;
  /** Runs statements in the sandbox of a database. */
  sql(script: string, options?: CallOptions): Promise<readonly StatementResult[]>;

  /** Saves all sandboxes of the plan at once. */
  checkpoint(options?: CheckpointOptions & CallOptions): Promise<CheckpointResult>;
  /** Brings every sandbox of the plan back to a checkpoint. */
  restore(checkpoint: string, options?: CallOptions): Promise<RestoreResult>;
  /** A page of the changes of the plan that would land. */
  diff(options?: DiffPageOptions & CallOptions): Promise<DiffPage>;

  /** Ends the commands that were spawned here. The plan stays as it is. Later calls fail by `CLOSED`. */
  close(): Promise<void>;
}
