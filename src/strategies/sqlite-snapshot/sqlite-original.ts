import {
  type Conflict,
  messageOf,
  SandboxCommitError,
  SandboxConflictError,
} from "../../core/errors/errors.ts";
import { baseName, displayPath, parentPath } from "../../core/paths/byte-path.ts";
import { differencesFromBase } from "../../database/sqlite/differences-from-base.ts";
import { brokenIn, brokenReferences, referringTables } from "../../database/sqlite/foreign-keys.ts";
import { type Direction, findConflicts } from "../../database/sqlite/landing-conflicts.ts";
import { changedTables, countChanges, recordedObjects } from "../../database/sqlite/sqlite-changes.ts";
import { type Patience, patiently, SqliteDatabase } from "../../database/sqlite/sqlite-database.ts";
import { constrainedTable, isBusy, SQLITE, sqliteCode } from "../../database/sqlite/sqlite-errors.ts";
import { hasMarker, landRecord, removeMarker, setMarker } from "../../database/sqlite/sqlite-landing.ts";
import { hasTable, MARKER_TABLE } from "../../database/sqlite/sqlite-schema.ts";
import { compareTimes, type Time } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { isThere } from "../../system/data/existence.ts";
import { firstBytes } from "../../system/data/locations.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import { freeRoom } from "../../system/mount/file-system.ts";

const POINTS = {
  lock: failpoint("sqlite.lock"),
  commit: failpoint("sqlite.commit"),
  unmark: failpoint("sqlite.remove-marker"),
  journal: failpoint("sqlite.remove-journal"),
};
const RECORD = "record";
/** In KiB. A larger transaction writes pages to disk before its end. */
const CACHE = 256 * 1024;

/** The databases that a landing is compared with, beside the original itself. */
export interface LandingContext {
  /** The base of the sandbox; given where the original must still equal it if definitions change. */
  readonly base?: string;
  /** The copy of the sandbox: the plan itself broke the references that are broken there too. */
  readonly copy?: string;
}

/**
 * The original, write-locked from the prepare of a landing to its end. `write` puts everything that lands
 * into the open transaction at once, so that every problem shows then and only the COMMIT remains. If the
 * process dies, the lock and the uncommitted transaction are gone.
 *
 * No other code of this process may open the file meanwhile: see system/data/locked-files.ts.
 */
export class LockedOriginal {
  readonly #db: SqliteDatabase;
  readonly #patience: Patience;

  private constructor(db: SqliteDatabase, patience: Patience) {
    this.#db = db;
    this.#patience = patience;
  }

  /** Takes the lock. Waits some time for other writers. */
  static async lock(location: string, record: string, patience: Patience): Promise<LockedOriginal> {
    passFailpoint(POINTS.lock);
    const db = new SqliteDatabase(location, "write");
    try {
      // EXTRA: after a power cut, the journal of a transaction that counts as done must not come back.
      const settings = `PRAGMA synchronous = EXTRA; PRAGMA cache_size = -${CACHE}; PRAGMA ignore_check_constraints = ON`;
      await patiently(() => db.exec(settings), patience);
      await patiently(() => db.exec("BEGIN IMMEDIATE"), patience);
      db.attach(record, "frozen", RECORD);
      db.ignoreTriggers();
      return new LockedOriginal(db, patience);
    } catch (thrown) {
      db[Symbol.dispose]();
      throw thrown;
    }
  }

  /** Whether the marker of this transaction is in the database. */
  has(id: string): boolean {
    return hasMarker(this.#db, id);
  }

  /**
   * Writes everything, ready to be committed. Throws if another writer has changed the same. Returns warnings
   * for the user.
   */
  write(id: string, direction: Direction, context: LandingContext = {}): string[] {
    const conflicts = [...findConflicts(this.#db, RECORD, direction), ...this.#sinceBase(context)];
    if (conflicts.length > 0) throw new SandboxConflictError(distinct(conflicts));
    const pages = this.#db.number("PRAGMA main.page_count");
    this.#db.exec("SAVEPOINT landing");
    this.#landOrConflict(direction);
    const warnings = this.#checkReferences(direction, context);
    setMarker(this.#db, id);
    this.#assertRoom(pages);
    return warnings;
  }

  /** Commits the transaction. */
  async commit(): Promise<void> {
    passFailpoint(POINTS.commit);
    await patiently(() => this.#db.exec("COMMIT"), this.#patience);
  }

  /** Removes the marker, when the landing is on record in the workspace. */
  async unmark(id: string): Promise<void> {
    if (!this.#db.isInTransaction) await patiently(() => this.#db.exec("BEGIN IMMEDIATE"), this.#patience);
    if (this.has(id)) {
      passFailpoint(POINTS.unmark);
      removeMarker(this.#db, id);
    }
    await patiently(() => this.#db.exec("COMMIT"), this.#patience);
  }

  /** Releases the lock and rolls back what is not committed. */
  [Symbol.dispose](): void {
    if (this.#db.isInTransaction) this.#db.exec("ROLLBACK");
    this.#db[Symbol.dispose]();
  }

  /** Where definitions change, no other change since the base is allowed: it may not fit them. */
  #sinceBase({ base }: LandingContext): Conflict[] {
    if (base === undefined || recordedObjects(this.#db, RECORD).length === 0) return [];
    this.#db.attach(base, "frozen", "base");
    return differencesFromBase(this.#db);
  }

  #landOrConflict(direction: Direction): void {
    try {
      landRecord(this.#db, RECORD, direction);
    } catch (thrown) {
      const code = sqliteCode(thrown);
      if (code === SQLITE.CONSTRAINT)
        throw new SandboxConflictError(
          [
            {
              path: constrainedTable(thrown),
              why: `${messageOf(thrown)} with a row that was added meanwhile`,
            },
          ],
          {
            cause: thrown,
          },
        );
      if (code !== SQLITE.ERROR) throw thrown;
      throw new SandboxCommitError(
        `The changes can't be written to ${displayPath(this.#db.path)}: ${messageOf(thrown)}.`,
        {
          cause: thrown,
          hint: "If it needs functions, collations or modules that only its own program has, make the change with that program.",
        },
      );
    }
  }

  /**
   * Checks rows that refer to missing rows. If another writer's change broke the reference, it is a conflict;
   * if the plan did, it is a warning.
   */
  #checkReferences(direction: Direction, { copy }: LandingContext): string[] {
    const tables = referringTables(this.#db, RECORD);
    const broken = brokenReferences(this.#db, "main", tables);
    if (broken.size === 0) return [];
    for (const key of this.#brokenBefore(tables, direction)) broken.delete(key);
    const own = new Set(copy === undefined ? [] : brokenIn(copy, tables));
    const others = [...broken].filter(([key]) => !own.has(key)).map(([, reference]) => reference);
    if (others.length > 0)
      throw new SandboxConflictError(
        others.map(({ table, row, parent }) => ({
          path: `${table}/${row}`,
          why: `it refers to a missing row of ${parent}`,
        })),
      );
    return broken.size === 0 ? [] : [`${broken.size} rows refer to missing rows, as in the sandbox`];
  }

  #brokenBefore(tables: readonly string[], direction: Direction): string[] {
    this.#db.exec("ROLLBACK TO landing");
    const before = [
      ...brokenReferences(
        this.#db,
        "main",
        tables.filter((table) => hasTable(this.#db, "main", table)),
      ).keys(),
    ];
    landRecord(this.#db, RECORD, direction);
    return before;
  }

  /** The changed pages go to a journal or log first, and new pages to the database. */
  #assertRoom(pagesBefore: number): void {
    const pages = this.#db.number("PRAGMA main.page_count");
    const pageSize = this.#db.number("PRAGMA main.page_size");
    const rows = countChanges(this.#db, RECORD);
    const isWhole = changedTables(this.#db, RECORD).some(({ whole }) => whole);
    const touched = isWhole ? pages : Math.min(pages, 16 + rows * 4);
    const needed = (touched + Math.max(0, pages - pagesBefore)) * pageSize;
    const folder = parentPath(this.#db.path) || "/";
    const free = freeRoom(folder);
    if (free >= needed) return;
    throw new SandboxCommitError(
      `There is no room for the changes to ${displayPath(this.#db.path)}: they need up to ${needed} bytes, and ${free} are free.`,
      { hint: `Make room on the file system of ${displayPath(folder)} and try again.`, code: "ENOSPC" },
    );
  }
}

/** Whether the marker of this transaction is in the database. Takes only the short lock of a read. */
export async function isMarked(location: string, id: string, patience: Patience): Promise<boolean> {
  using db = new SqliteDatabase(location, "write");
  return await patiently(() => hasTable(db, "main", MARKER_TABLE) && hasMarker(db, id), patience);
}

/**
 * Removes the journal of a process that died in the middle of a transaction. At the next read, SQLite itself
 * restores what such a process had overwritten. A journal from before the first overwrite is empty or begins
 * with a zero byte, and SQLite leaves it there. We remove it if it is younger than the landing and no program
 * uses the database; otherwise the next write reuses and removes it.
 */
export async function removeDeadJournal(location: string, landedAt: Time, patience: Patience): Promise<void> {
  if (!["-journal", "-wal", "-shm"].some((suffix) => isThere(`${location}${suffix}`)) || !isThere(location))
    return;
  using db = new SqliteDatabase(location, "write");
  await patiently(() => db.value("SELECT count(*) FROM sqlite_schema"), patience);
  using folder = Folder.open(parentPath(location));
  const journal = `${baseName(location)}-journal`;
  const isLeft = () => {
    const facts = folder.facts(journal);
    if (facts?.kind !== "file" || compareTimes(facts.btime, landedAt) < 0) return false;
    return (firstBytes(folder.label(journal), 1)[0] ?? 0) === 0;
  };
  if (!isLeft() || !tryAlone(db)) return;
  if (isLeft()) folder.removeFile(POINTS.journal, journal);
  db.exec("ROLLBACK");
}

/** Takes an exclusive lock; false if other programs use the database. */
function tryAlone(db: SqliteDatabase): boolean {
  try {
    db.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (thrown) {
    if (isBusy(thrown) || isBusy(thrown instanceof Error ? thrown.cause : undefined)) return false;
    throw thrown;
  }
}

function distinct(conflicts: readonly Conflict[]): Conflict[] {
  return [...new Map(conflicts.map((conflict) => [conflict.path, conflict])).values()];
}
