import { StateError } from "../../../core/errors/errors.ts";
import type { Attention, PreparedCommit } from "../../../core/strategy.ts";
import { removeTree } from "../../../engine/tree/remove-tree.ts";
import { compareTimes, type Time } from "../../../system/calls/facts.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { digestOf } from "../../../system/data/digest.ts";
import { type FlushTarget, flush } from "../../../system/data/flush.ts";
import { parsed, readWhole, writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { GIT_LANDINGS } from "../layout.ts";
import type { LogLine } from "../repository/ref-log.ts";
import type { BlobChange } from "../repository/tree-changes.ts";
import type { GitLock } from "./git-locks.ts";

/**
 * What a landing, or an undo, does to the user's repository. Its folder in the workspace,
 * `git-landings/TRANSACTION`:
 *
 *   locks      JSON: the locks that are about to be taken; flushed before the first is, so that they are
 *              always found again
 *   index      the index as it is to become
 *   incoming/  the files as they are to become, until they are staged (files/landings.ts)
 *   record     JSON, `GitLanding`; its digest is in the journal
 *   done       JSON, `Finished`: written when everything is in its place
 *   undone     an undo of it has come to its end
 *
 * Order: locks, one flush, the locks themselves, everything that can fail, record, one flush; then the
 * decision (not here); then the files, the index, the logs, the branch, one flush, done; with hooks of the
 * user's one more flush, and then those. Each of these steps is seen to be done from what is there, so all of
 * it can be run again.
 */
export interface GitLanding {
  readonly version: 1;
  readonly transaction: string;
  readonly ref: string;
  /** Where the branch is, and where it will be. The same if nothing is committed. */
  readonly from: string;
  readonly to: string;
  /** What changes in the index, in this direction. */
  readonly changes: readonly BlobChange[];
  /** Paths whose files change. */
  readonly files: readonly string[];
  readonly locks: readonly GitLock[];
  readonly log: LogLine;
  /** Whether moves of the branch are to be logged where there is no log yet. */
  readonly logs: boolean;
  /** The user wanted his hooks to be run, and so they are, whoever finishes this. */
  readonly runsHooks?: true;
  /** What the exchange of files prepared; absent if no file changes. */
  readonly exchange?: PreparedCommit;
  /** For an undo: the landing that it takes back. */
  readonly undoes?: string;
}

export interface Finished {
  readonly attention: readonly Attention[];
}

const POINTS = {
  folder: failpoint("git-landing.create"),
  locks: failpoint("git-landing.record-locks"),
  record: failpoint("git-landing.record"),
  done: failpoint("git-landing.done"),
  undone: failpoint("git-landing.undone"),
  flushLocks: failpoint("git-landing.flush-locks"),
  flush: failpoint("git-landing.flush"),
  flushDone: failpoint("git-landing.flush-done"),
  remove: failpoint("git-landing.remove"),
};
const LOCKS = "locks";
const RECORD = "record";
const DONE = "done";
const UNDONE = "undone";

/** The folder of one landing. */
export class LandingFolder {
  readonly id: string;
  readonly folder: Folder;
  readonly #workspace: Folder;

  private constructor(workspace: Folder, id: string, folder: Folder) {
    this.#workspace = workspace;
    this.id = id;
    this.folder = folder;
  }

  static make(workspace: Folder, id: string): LandingFolder {
    using all = workspace.ensureFolder(POINTS.folder, GIT_LANDINGS);
    return new LandingFolder(workspace, id, all.ensureFolder(POINTS.folder, id));
  }

  static openIfThere(workspace: Folder, id: string): LandingFolder | undefined {
    const folder = workspace.openBelowIfThere(`${GIT_LANDINGS}/${id}`);
    return folder === undefined ? undefined : new LandingFolder(workspace, id, folder);
  }

  /** The one that a transaction prepared. */
  static openPrepared(workspace: Folder, prepared: PreparedCommit): LandingFolder {
    const id = String(prepared.data["landing"]);
    const found = LandingFolder.openIfThere(workspace, id);
    if (found !== undefined) return found;
    throw damaged(workspace.label(`${GIT_LANDINGS}/${id}`));
  }

  /** Ids of all landings, the latest first. */
  static ids(workspace: Folder): string[] {
    using all = workspace.openBelowIfThere(GIT_LANDINGS);
    const createdAt = (id: string): Time => all?.facts(id)?.btime ?? [0, 0];
    return all?.names().sort((a, b) => compareTimes(createdAt(b), createdAt(a))) ?? [];
  }

  get isDone(): boolean {
    return this.folder.facts(DONE) !== undefined;
  }

  get isUndone(): boolean {
    return this.folder.facts(UNDONE) !== undefined;
  }

  async writeLocks(locks: readonly GitLock[]): Promise<void> {
    writeWhole(POINTS.locks, this.folder, LOCKS, Buffer.from(JSON.stringify(locks)));
    await flush(POINTS.flushLocks, this.folder, () => this.#targets());
  }

  /** The locks that may have been taken. */
  readLocks(): readonly GitLock[] {
    const bytes = readWhole(this.folder, LOCKS);
    return bytes === undefined ? [] : (parsed<readonly GitLock[]>(bytes) ?? []);
  }

  /** `also` is flushed with it. */
  async write(landing: GitLanding, also: () => Iterable<FlushTarget>): Promise<string> {
    const bytes = Buffer.from(JSON.stringify(landing));
    writeWhole(POINTS.record, this.folder, RECORD, bytes);
    await flush(POINTS.flush, this.folder, () => this.#targets(also));
    return digestOf(bytes);
  }

  /** What was prepared; with a digest it has to be exactly that. */
  read(digest?: string): GitLanding | undefined {
    const bytes = readWhole(this.folder, RECORD);
    if (bytes === undefined || (digest !== undefined && digestOf(bytes) !== digest)) return undefined;
    return parsed<GitLanding>(bytes);
  }

  /** The same, where it must be there. */
  readPrepared(prepared: PreparedCommit): GitLanding {
    const landing = this.read(String(prepared.data["digest"]));
    if (landing === undefined) throw damaged(this.folder.path);
    return landing;
  }

  finish(finished: Finished): void {
    writeWhole(POINTS.done, this.folder, DONE, Buffer.from(JSON.stringify(finished)));
  }

  /** Sees that this is on disk. */
  async flushFinished(): Promise<void> {
    await flush(POINTS.flushDone, this.folder, () => this.#targets());
  }

  readFinished(): Finished {
    const bytes = readWhole(this.folder, DONE);
    return (bytes === undefined ? undefined : parsed<Finished>(bytes)) ?? { attention: [] };
  }

  markUndone(): void {
    if (!this.isUndone) writeWhole(POINTS.undone, this.folder, UNDONE, Buffer.alloc(0));
  }

  remove(): void {
    this.folder.close();
    using all = this.#workspace.openBelowIfThere(GIT_LANDINGS);
    if (all === undefined) return;
    removeTree(POINTS.remove, all, this.id);
    LandingFolder.removeIfNone(this.#workspace);
  }

  /** Removes the folder that they are all in, once there is none. */
  static removeIfNone(workspace: Folder): void {
    using all = workspace.openBelowIfThere(GIT_LANDINGS);
    if (all?.names().length === 0) removeTree(POINTS.remove, workspace, GIT_LANDINGS);
  }

  [Symbol.dispose](): void {
    this.folder.close();
  }

  /** One after the other: a folder is open only while it is flushed. */
  *#targets(also: () => Iterable<FlushTarget> = () => []): Generator<FlushTarget> {
    using all = this.#workspace.openBelow(GIT_LANDINGS);
    yield { parent: all, name: this.id };
    yield { parent: all, name: "." };
    yield { parent: this.#workspace, name: "." };
    yield* also();
  }
}

function damaged(path: string): StateError {
  return new StateError(`The record of this landing is missing or incomplete: ${path}`, {
    hint: "Nothing is taken back or finished from an incomplete record.",
  });
}
