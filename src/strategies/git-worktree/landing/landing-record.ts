import { StateError } from "../../../core/errors/errors.ts";
import type { Attention, PreparedCommit } from "../../../core/strategy.ts";
import { preparedLanding } from "../../../engine/manifest/prepared-landing.ts";
import { removeTree } from "../../../engine/tree/remove-tree.ts";
import { compareTimes, type Time } from "../../../system/calls/facts.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { digestOf } from "../../../system/data/digest.ts";
import { type FlushTarget, flush } from "../../../system/data/flush.ts";
import { parsed, readWhole, writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { GIT_LANDINGS } from "../layout.ts";
import type { GitLock } from "./git-locks.ts";
import type { RepositoryMove } from "./ref-moves.ts";

/**
 * The record of what a landing, or an undo, does to the user's repository. Its folder in the workspace is
 * `git-landings/TRANSACTION`:
 *
 *   locks      JSON: the locks that are about to be taken. Flushed before the first one is taken, so that
 *              recovery always finds them
 *   index      the index as it will be
 *   packed-refs  the file of this name as it will be, if a ref goes
 *   incoming/  the files as they will be, until they are staged (engine/landing/landings.ts)
 *   record     JSON, `GitLanding`; its digest is in the journal
 *   done       JSON, `Finished`: everything is in its place
 *   undone     an undo of this landing is finished
 *
 * The order of writes:
 *
 * 1. `locks`; one flush.
 * 2. The locks themselves.
 * 3. Everything that can fail.
 * 4. `record`; one flush.
 * 5. The decision, which is not written here.
 * 6. The files, the index, the logs, the branch; one flush.
 * 7. `done`.
 * 8. If the user wants hooks: one more flush, then the hook.
 *
 * Every step can tell whether it is done already, so a second run continues where the first was cut off.
 */
export interface GitLanding extends RepositoryMove {
  readonly version: 2;
  readonly transaction: string;
  /** The user wants hooks. Recovery runs them too. */
  readonly runsHooks?: true;
  /** The exchange of files that was prepared; absent if no file changes, or if it is recorded elsewhere. */
  readonly exchange?: PreparedCommit;
  /** Only for an undo: the landing that it takes back. */
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

  /** The folder of a prepared transaction. */
  static openPrepared(workspace: Folder, prepared: PreparedCommit): LandingFolder {
    const { landing: id } = preparedLanding(prepared);
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

  /** Locks that may have been taken. */
  readLocks(): readonly GitLock[] {
    const bytes = readWhole(this.folder, LOCKS);
    return bytes === undefined ? [] : (parsed<readonly GitLock[]>(bytes) ?? []);
  }

  /** Flushes `also` with the record. */
  async write(landing: GitLanding, also: () => Iterable<FlushTarget>): Promise<string> {
    const bytes = Buffer.from(JSON.stringify(landing));
    writeWhole(POINTS.record, this.folder, RECORD, bytes);
    await flush(POINTS.flush, this.folder, () => this.#targets(also));
    return digestOf(bytes);
  }

  /** The record; with a digest, only if its bytes have that digest. */
  read(digest?: string): GitLanding | undefined {
    const bytes = readWhole(this.folder, RECORD);
    if (bytes === undefined || (digest !== undefined && digestOf(bytes) !== digest)) return undefined;
    return parsed<GitLanding>(bytes);
  }

  /** The record of a prepared transaction, which must be intact. */
  readPrepared(prepared: PreparedCommit): GitLanding {
    const landing = this.read(preparedLanding(prepared).digest);
    if (landing === undefined) throw damaged(this.folder.path);
    return landing;
  }

  finish(finished: Finished): void {
    writeWhole(POINTS.done, this.folder, DONE, Buffer.from(JSON.stringify(finished)));
  }

  /** Flushes the folder with `done`. */
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

  /** Removes the folder of all landings when it is empty. */
  static removeIfNone(workspace: Folder): void {
    using all = workspace.openBelowIfThere(GIT_LANDINGS);
    if (all?.names().length === 0) removeTree(POINTS.remove, workspace, GIT_LANDINGS);
  }

  [Symbol.dispose](): void {
    this.folder.close();
  }

  /** Opens one folder after the other, each only while it is flushed. */
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
