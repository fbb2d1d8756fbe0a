import { BusyError, SandboxStateError, UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import { type Patience, SqliteDatabase } from "../../database/sqlite/sqlite-database.ts";
import { sqliteCode } from "../../database/sqlite/sqlite-errors.ts";
import { dropCheckpoints } from "../../engine/checkpoint/tree-checkpoints.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { factsOfPath } from "../../system/data/locations.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { fileWriters } from "../../system/process/holders.ts";
import { currentBootId } from "../../system/process/process-identity.ts";
import { copyFileInTurns } from "./file-copy.ts";
import { writeMerges } from "./sqlite-merges.ts";
import { copyLiveDatabase } from "./sqlite-source.ts";
import { decodeReference, filesOf, SqliteView } from "./sqlite-view.ts";

/**
 * # A sandbox of a SQLite database, in its workspace
 *
 * - `base.db`: the original from the creation of the sandbox, or from its last update. The file never
 *   changes; an update puts another in its place.
 * - `merges`: what updates have left (sqlite-merges.ts).
 * - `next-base.db`, `next-own.db`, `next-record.db`: an update that is under way (sqlite-update.ts).
 * - `made`: written last, when everything exists, the copy for programs (sqlite-view.ts) included. Without it
 *   there is only the rest of a failed creation.
 * - `stale`: written when the work has landed. Everything is rebuilt before the next use.
 */
const POINTS = {
  own: failpoint("sqlite.copy-own"),
  made: failpoint("sqlite.made"),
  stale: failpoint("sqlite.mark-stale"),
  fresh: failpoint("sqlite.mark-fresh"),
  remove: failpoint("sqlite.remove-old"),
  moveBase: failpoint("sqlite.move-base"),
  moveOwn: failpoint("sqlite.move-own"),
};
export const BASE = "base.db";
/** The files of an update, by the name that they have until it is complete. */
export const NEXT = { base: "next-base.db", own: "next-own.db", record: "next-record.db" } as const;
const MADE = "made";
const STALE = "stale";

export class SqliteSandbox {
  readonly workspace: Folder;
  readonly location: string;
  readonly name: string;
  readonly view: SqliteView;
  readonly #stateDir: string;

  constructor(stateDir: string, workspace: Folder, ref: SandboxRef) {
    this.workspace = workspace;
    const decoded = decodeReference(ref);
    this.location = decoded.location;
    this.name = decoded.name;
    this.view = new SqliteView(decoded);
    this.#stateDir = stateDir;
  }

  get isFinished(): boolean {
    return this.workspace.facts(MADE) !== undefined;
  }

  get isStale(): boolean {
    return this.workspace.facts(STALE) !== undefined;
  }

  get isFromEarlierBoot(): boolean {
    const record = readWhole(this.workspace, MADE);
    return record === undefined || parsed<{ bootId?: string }>(record)?.bootId !== currentBootId();
  }

  get basePath(): string {
    return this.workspace.label(BASE);
  }

  /** The path at which programs find the copy. */
  get path(): string {
    return this.view.path;
  }

  /**
   * Builds the sandbox from the original as it is now. Removes earlier work, or the rest of an earlier try,
   * first.
   */
  async make(patience: Patience): Promise<void> {
    for (const name of [BASE, `${BASE}-journal`]) removeTree(POINTS.remove, this.workspace, name);
    this.removeNext();
    writeMerges(this.workspace, undefined);
    dropCheckpoints(this.workspace);
    await copyLiveDatabase(this.location, this.workspace, BASE, patience);
    using own = this.view.makeOwn(this.#stateDir);
    const place = { folder: own, name: this.name };
    await copyFileInTurns(POINTS.own, { folder: this.workspace, name: BASE }, place, patience.signal);
    this.copyAccessRights(own);
    const note = Buffer.from(JSON.stringify({ bootId: currentBootId() }));
    writeWhole(POINTS.made, this.workspace, MADE, note);
    if (this.isStale) this.markFresh();
  }

  /** Puts the complete files of an update in the place of the base and the copy. */
  takeNext(): void {
    using own = this.openOwn();
    this.workspace.replace(POINTS.moveBase, NEXT.base, this.workspace, BASE);
    for (const file of filesOf(this.name)) removeTree(POINTS.moveOwn, own, file);
    this.workspace.replace(POINTS.moveOwn, NEXT.own, own, this.name);
    this.copyAccessRights(own);
  }

  /** Removes the files of an update that did not come to its end. */
  removeNext(): void {
    for (const name of Object.values(NEXT).flatMap(filesOf)) removeTree(POINTS.remove, this.workspace, name);
  }

  markStale(): void {
    if (!this.isStale) writeWhole(POINTS.stale, this.workspace, STALE, Buffer.alloc(0));
  }

  markFresh(): void {
    if (this.isStale) this.workspace.removeFile(POINTS.fresh, STALE);
  }

  /** Fails while a command or another program works on the copy. */
  assertUnused(): void {
    const user = this.view.inside() ?? fileWriters(filesOf(this.path))[0];
    if (user !== undefined) throw this.#busy(user);
  }

  /**
   * Opens the copy. Fails while a command works in it, because that goes through an overlay, whose locks we
   * would not see.
   */
  open(): SqliteDatabase {
    const inside = this.view.inside();
    if (inside !== undefined) throw this.#busy(inside);
    this.#assertThere();
    return new SqliteDatabase(this.path, "write");
  }

  /** Opens the copy, with the base attached as `base`. */
  openWithBase(): SqliteDatabase {
    const db = this.open();
    try {
      db.attach(this.basePath, "frozen", "base");
      return db;
    } catch (thrown) {
      db[Symbol.dispose]();
      if (sqliteCode(thrown) === undefined) throw thrown;
      throw new UnsupportedError(
        `The database in the sandbox of ${displayPath(this.location)} has another text encoding now.`,
        {
          hint: "Create the database again with the encoding of the original.",
          cause: thrown,
        },
      );
    }
  }

  /** Fails while a program works on the copy, and brings all of its work into its one file. */
  freeze(): void {
    this.assertUnused();
    using db = this.open();
    db.rows("PRAGMA wal_checkpoint(TRUNCATE)");
  }

  /** The folder of the copy. */
  openOwn(): Folder {
    const own = this.view.openOwn();
    if (own === undefined) throw this.#gone();
    return own;
  }

  /** Fails if the copy is gone; a command may have removed it. */
  #assertThere(): void {
    using own = this.view.openOwn();
    if (own?.facts(this.name)?.kind !== "file") throw this.#gone();
  }

  #gone(): SandboxStateError {
    return new SandboxStateError(
      `The database in the sandbox of ${displayPath(this.location)} was removed.`,
      {
        from: "ACTIVE",
        to: "ACTIVE",
        hint: "A plan can't delete a database. Drop the work by a rollback of the plan.",
      },
    );
  }

  #busy({ pid, command }: { readonly pid: number; readonly command: string }): BusyError {
    const holder = `${command} (pid ${pid})`;
    return new BusyError(
      `The database in the sandbox of ${displayPath(this.location)} is in use by ${holder}.`,
      {
        holder,
        hint: "Wait for it to end, or end it, and try again.",
      },
    );
  }

  [Symbol.dispose](): void {
    this.workspace.close();
  }

  /** Gives the copy and its folder the access rights of the original and its folder. */
  copyAccessRights(own: Folder): void {
    const places = [
      [this.name, factsOfPath(this.location), 0o600],
      [ROOT_PATH, factsOfPath(parentPath(this.location)), 0o700],
    ] as const;
    for (const [name, original, needed] of places) {
      if (original === undefined) continue;
      if (process.geteuid?.() === 0) own.setOwner(POINTS.own, name, original.uid, original.gid);
      own.setMode(POINTS.own, name, original.mode | needed);
    }
  }
}
