import type { Change } from "../../core/change.ts";
import { BusyError, StateError } from "../../core/errors/errors.ts";
import type { Attention, PreparedCommit, Transaction } from "../../core/strategy.ts";
import { BACKWARD, type Direction, FORWARD } from "../../database/sqlite/landing-conflicts.ts";
import { removeConflictingRows } from "../../database/sqlite/remove-conflicting-rows.ts";
import { type Patience, patiently, SqliteDatabase } from "../../database/sqlite/sqlite-database.ts";
import { preparedLanding } from "../../engine/manifest/prepared-landing.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { runAtOnce } from "../../engine/work/pace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { isThere } from "../../system/data/existence.ts";
import { flush } from "../../system/data/flush.ts";
import { writeWhole } from "../../system/data/whole-file.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import { copyFile, fileDigest } from "./file-copy.ts";
import { recordedDiff, recordWork } from "./sqlite-diff.ts";
import { isMarked, LockedOriginal, removeDeadJournal } from "./sqlite-original.ts";
import type { SqliteSandbox } from "./sqlite-sandbox.ts";

/**
 * # The landings of a sandbox of a SQLite database, each in `landings/TRANSACTION` of the workspace
 *
 * - `changes.db`: both sides of every change (database/sqlite/sqlite-changes.ts). The journal has its digest,
 *   and an undo reads it.
 * - `landed`, `undone`: the changes are in the original, or out of it again, for good.
 *
 * The order of writes:
 *
 * 1. `changes.db`, complete; one flush.
 * 2. The original is locked. All changes and the marker (database/sqlite/sqlite-landing.ts) are written to it
 *    in one transaction.
 * 3. The decision, which is not written here.
 * 4. The transaction is committed; SQLite flushes it.
 * 5. `landed`; one flush.
 * 6. The marker is removed.
 *
 * So after a crash the changes have landed if `landed` or the marker exists, and not otherwise, whatever
 * other writers have done to the rows.
 */
const POINTS = {
  create: failpoint("sqlite.landing"),
  record: failpoint("sqlite.record"),
  flushRecord: failpoint("sqlite.flush-record"),
  note: failpoint("sqlite.note-landed"),
  flushNote: failpoint("sqlite.flush-landed"),
  revert: failpoint("sqlite.revert"),
  remove: failpoint("sqlite.remove-landing"),
};
const LANDINGS = "landings";
const CHANGES = "changes.db";
const REVERTING = "reverting.db";

/** The originals that this process has locked, by sandbox and transaction. */
export type LockedOriginals = Map<string, LockedOriginal>;

export class SqliteLandings {
  readonly #sandbox: SqliteSandbox;
  readonly #locked: LockedOriginals;
  readonly #patience: Patience;

  constructor(sandbox: SqliteSandbox, locked: LockedOriginals, patience: Patience) {
    this.#sandbox = sandbox;
    this.#locked = locked;
    this.#patience = patience;
  }

  /** The ids of all landings, the oldest first. */
  ids(): string[] {
    using landings = this.#sandbox.workspace.openBelowIfThere(LANDINGS);
    return (landings?.names() ?? []).sort();
  }

  /** Records the changes and writes them into the original, ready to be committed. */
  async prepare(transaction: Transaction): Promise<PreparedCommit | null> {
    const { workspace, basePath, path } = this.#sandbox;
    using landings = workspace.ensureFolder(POINTS.create, LANDINGS);
    using landing = landings.ensureFolder(POINTS.create, transaction.id);
    const changes = this.#record(landing);
    if (changes === 0) {
      removeTree(POINTS.remove, landings, transaction.id);
      return null;
    }
    await flush(POINTS.flushRecord, landing, () => [
      { parent: landing, name: CHANGES },
      ...[landing, landings, workspace].map((parent) => ({ parent, name: "." })),
    ]);
    const warnings = await this.#lockAndWrite(transaction.id, landing, FORWARD, {
      base: basePath,
      copy: path,
    });
    const data = { landing: transaction.id, digest: fileDigest({ folder: landing, name: CHANGES }) };
    return { changes, data, ...(warnings.length > 0 && { warnings }) };
  }

  /**
   * Writes the state before the landing into the original, ready to be committed. Refuses if the record does
   * not have the digest from the journal.
   */
  async prepareUndo(transaction: Transaction, undoes: PreparedCommit): Promise<PreparedCommit> {
    using landing = this.#open(undoes);
    const warnings = await this.#lockAndWrite(transaction.id, landing, BACKWARD, {});
    return { changes: undoes.changes, data: undoes.data, ...(warnings.length > 0 && { warnings }) };
  }

  /** What a landing changed. */
  landed(prepared: PreparedCommit): readonly Change[] {
    using landing = this.#open(prepared);
    using db = new SqliteDatabase(landing.label(CHANGES), "read");
    db.attach(landing.label(CHANGES), "read", "out");
    return recordedDiff(db).changes;
  }

  async #lockAndWrite(
    id: string,
    landing: Folder,
    direction: Direction,
    context: { base?: string; copy?: string },
  ): Promise<string[]> {
    this.releaseOriginal(id);
    const original = await LockedOriginal.lock(
      this.#sandbox.location,
      landing.label(CHANGES),
      this.#patience,
    );
    try {
      const warnings = original.write(id, direction, context);
      this.#locked.set(this.#key(id), original);
      return warnings;
    } catch (thrown) {
      original[Symbol.dispose]();
      throw thrown;
    }
  }

  /** Releases the original, if this process has locked it for the transaction. */
  releaseOriginal(id: string): void {
    this.#locked.get(this.#key(id))?.[Symbol.dispose]();
    this.#locked.delete(this.#key(id));
  }

  /** Removes the journal beside the original, if a process died while it was preparing this landing. */
  async removeDeadJournal(landingId: string): Promise<void> {
    using landing = this.#sandbox.workspace.openBelowIfThere(`${LANDINGS}/${landingId}`);
    if (landing !== undefined)
      await removeDeadJournal(this.#sandbox.location, landing.ownFacts().btime, this.#patience);
  }

  /**
   * Commits what was prepared. In a process that has not prepared it, or in a second run, finds out first
   * which steps remain.
   */
  async commit(transaction: Transaction, prepared: PreparedCommit): Promise<void> {
    using landing = this.#open(prepared);
    const { id } = transaction;
    const note = transaction.direction === "undo" ? "undone" : "landed";
    if (landing.facts(note) !== undefined && !isThere(this.#sandbox.location)) return;
    const original = this.#locked.get(this.#key(id)) ?? (await this.#lockAgain(transaction, landing, note));
    this.#locked.set(this.#key(id), original);
    try {
      await this.#finish(id, landing, note, original);
      this.releaseOriginal(id);
    } catch (thrown) {
      // After a wait for others the transaction is intact. After any other failure, the next try has to find
      // out its outcome.
      if (!(thrown instanceof BusyError)) this.releaseOriginal(id);
      throw thrown;
    }
  }

  /** The process that had the lock is gone, and its transaction with it, unless it had committed. */
  async #lockAgain({ id, direction }: Transaction, landing: Folder, note: string): Promise<LockedOriginal> {
    const original = await LockedOriginal.lock(
      this.#sandbox.location,
      landing.label(CHANGES),
      this.#patience,
    );
    try {
      const copy = isThere(this.#sandbox.path) ? { copy: this.#sandbox.path } : {};
      if (landing.facts(note) === undefined && !original.has(id))
        original.write(id, direction === "undo" ? BACKWARD : FORWARD, copy);
      return original;
    } catch (thrown) {
      original[Symbol.dispose]();
      throw thrown;
    }
  }

  async #finish(id: string, landing: Folder, note: string, original: LockedOriginal): Promise<void> {
    if (landing.facts(note) === undefined) {
      await original.commit();
      writeWhole(POINTS.note, landing, note, Buffer.alloc(0));
      await flush(POINTS.flushNote, landing, () => [
        { parent: landing, name: note },
        { parent: landing, name: "." },
      ]);
    }
    await original.unmark(id);
  }

  /**
   * Takes back a landing that was not decided, though it may have been committed. Rows that other writers
   * changed since stay, and are reported. Calls `markWhole` before it removes the last trace of the landing.
   */
  async giveUp(id: string, markWhole: () => void): Promise<readonly Attention[]> {
    this.releaseOriginal(id);
    using landing = this.#sandbox.workspace.openBelowIfThere(`${LANDINGS}/${id}`);
    if (landing === undefined) return [];
    const hasLanded = await this.#hasLanded(id, landing);
    const attention = hasLanded ? await this.#revert(id, landing, "yield") : [];
    markWhole();
    this.#remove(id);
    return attention;
  }

  /** Takes back what has landed, if anything has. Throws if another writer has changed it since. */
  async takeBack(id: string): Promise<void> {
    this.releaseOriginal(id);
    using landing = this.#sandbox.workspace.openBelow(`${LANDINGS}/${id}`);
    if (landing.facts("undone") === undefined && (await this.#hasLanded(id, landing)))
      await this.#revert(id, landing, "refuse");
    this.#remove(id);
  }

  discard(prepared: PreparedCommit): void {
    this.#remove(preparedLanding(prepared).landing);
  }

  async #hasLanded(id: string, landing: Folder): Promise<boolean> {
    if (landing.facts("landed") !== undefined) return true;
    if (landing.facts(CHANGES) === undefined || !isThere(this.#sandbox.location)) return false;
    return await isMarked(this.#sandbox.location, id, this.#patience);
  }

  /**
   * Works on a copy of the record. With "yield", the rows that other writers have changed since are removed
   * from the copy.
   */
  async #revert(id: string, landing: Folder, others: "yield" | "refuse"): Promise<readonly Attention[]> {
    removeTree(POINTS.remove, landing, REVERTING);
    runAtOnce(
      copyFile(POINTS.revert, { folder: landing, name: CHANGES }, { folder: landing, name: REVERTING }),
    );
    const removing = () => removeConflictingRows(this.#sandbox.location, landing.label(REVERTING), BACKWARD);
    const kept = others === "yield" ? await patiently(removing, this.#patience) : [];
    using original = await LockedOriginal.lock(
      this.#sandbox.location,
      landing.label(REVERTING),
      this.#patience,
    );
    const revertId = `${id}-taken-back`;
    if (!original.has(revertId)) original.write(revertId, BACKWARD);
    await original.commit();
    await original.unmark(id);
    await original.unmark(revertId);
    return kept.map(({ path, why }) => ({ path, message: `${why}; it stays as it is` }));
  }

  /** All participants of a commit share the id of the transaction, so the key has the sandbox too. */
  #key(id: string): string {
    return `${this.#sandbox.workspace.path} ${id}`;
  }

  #record(landing: Folder): number {
    for (const name of landing.names()) removeTree(POINTS.remove, landing, name);
    passFailpoint(POINTS.record);
    return recordWork(this.#sandbox, landing.label(CHANGES));
  }

  #open(prepared: PreparedCommit): Folder {
    const { landing: id, digest } = preparedLanding(prepared);
    const landing = this.#sandbox.workspace.openBelowIfThere(`${LANDINGS}/${id}`);
    if (landing?.facts(CHANGES) !== undefined && fileDigest({ folder: landing, name: CHANGES }) === digest)
      return landing;
    landing?.close();
    throw new StateError(`The record of what landed in ${this.#sandbox.location} is missing or damaged.`, {
      hint: "Nothing was changed. Take the changes back by hand.",
    });
  }

  #remove(id: string): void {
    using landings = this.#sandbox.workspace.openBelowIfThere(LANDINGS);
    if (landings !== undefined) removeTree(POINTS.remove, landings, id);
  }
}
