import { setTimeout as sleep } from "node:timers/promises";
import { BusyError, InterruptedError, UnsupportedError } from "../../core/errors/errors.ts";
import { baseName, displayPath, parentPath } from "../../core/paths/byte-path.ts";
import { type Patience, patiently, SqliteDatabase } from "../../database/sqlite/sqlite-database.ts";
import type { SqliteMode } from "../../database/sqlite/sqlite-uri.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { type Facts, sameTime } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { factsOfPath, firstBytes } from "../../system/data/locations.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import { copyFileInTurns } from "./file-copy.ts";

const POINTS = { copy: failpoint("sqlite.copy-original") };
const MAGIC = "SQLite format 3\0";
const VERSION_AT = 19;
const WAL_VERSION = 2;
/** Within this time a file may be changed twice and show the same time. */
const CLOCK_TICK_MS = 20;

/**
 * What the first bytes of a file say: a database, in which journal mode, or an empty file, which is an empty
 * database; undefined if it is none.
 */
export function databaseKind(location: string): "empty" | "journal" | "wal" | undefined {
  const header = firstBytes(location, MAGIC.length + 4);
  if (header.length === 0) return "empty";
  if (header.toString("latin1", 0, MAGIC.length) !== MAGIC) return undefined;
  return header[VERSION_AT] === WAL_VERSION ? "wal" : "journal";
}

/** What is thrown for a file that is no database. */
export function notADatabase(location: string): UnsupportedError {
  return new UnsupportedError(`${displayPath(location)} is not a SQLite database, or it is encrypted.`, {
    hint: "Use type=fs-file to work on it as a file, or decrypt it first.",
    code: "NOT_A_DATABASE",
  });
}

/**
 * Copies a database that others may be using, as it is at one instant, what is still in its write-ahead log
 * included, into a file that is not there yet. The original is only read.
 * - With a rollback journal the file does not change while we hold the lock of a reader, so it is copied as a
 *   file, sharing blocks where that works.
 * - In WAL mode, if nobody has it open, SQLite would make files beside it to read it at all. So it is copied
 *   as a file without any lock, and once more if it turns out that somebody has changed it meanwhile.
 * - In WAL mode, if somebody has it open, it is copied page by page through SQLite, which knows what is in
 *   the log.
 */
export async function copyLiveDatabase(
  location: string,
  to: Folder,
  name: string,
  patience: Patience,
): Promise<void> {
  const deadline = performance.now() + patience.limitMs;
  for (;;) {
    if (patience.signal?.aborted === true) throw new InterruptedError();
    removeTree(POINTS.copy, to, name);
    const kind = databaseKind(location);
    if (kind === undefined) throw notADatabase(location);
    if (kind === "wal" && isInUse(location)) return await copyPages(location, to.label(name), patience);
    if (kind !== "wal") return await copyLocked(location, "read", to, name, patience);
    const before = await settledFacts(location);
    await copyLocked(location, "frozen", to, name, patience);
    if (isSame(before, factsOfPath(location)) && !isInUse(location)) return;
    if (performance.now() > deadline)
      throw new BusyError(`${displayPath(location)} is changed all the time.`, { holder: "another program" });
  }
}

/**
 * The files that are there while a database in WAL mode is open, or after a program that had it open was
 * killed.
 */
function isInUse(location: string): boolean {
  return factsOfPath(`${location}-wal`) !== undefined || factsOfPath(`${location}-shm`) !== undefined;
}

async function copyPages(location: string, to: string, patience: Patience): Promise<void> {
  using source = await beginReading(location, "read", patience);
  passFailpoint(POINTS.copy);
  await source.copyTo(to);
}

async function copyLocked(
  location: string,
  mode: "read" | "frozen",
  to: Folder,
  name: string,
  patience: Patience,
): Promise<void> {
  using _source = await beginReading(location, mode, patience);
  using folder = Folder.open(parentPath(location));
  await copyFileInTurns(
    POINTS.copy,
    { folder, name: baseName(location) },
    { folder: to, name },
    patience.signal,
  );
}

/** Held to the end of the copy, so that everything is from one instant. */
async function beginReading(location: string, mode: SqliteMode, patience: Patience): Promise<SqliteDatabase> {
  const source = new SqliteDatabase(location, mode);
  try {
    source.exec("BEGIN");
    await patiently(() => source.value("SELECT count(*) FROM sqlite_schema"), patience);
    return source;
  } catch (thrown) {
    source[Symbol.dispose]();
    throw thrown;
  }
}

/** The facts of a file whose time will differ if it is changed from now on. */
async function settledFacts(location: string): Promise<Facts | undefined> {
  await sleep(Math.max(0, CLOCK_TICK_MS - (Date.now() - changedAt(factsOfPath(location)))));
  return factsOfPath(location);
}

function changedAt(facts: Facts | undefined): number {
  return facts === undefined ? 0 : facts.ctime[0] * 1000 + facts.ctime[1] / 1e6;
}

function isSame(before: Facts | undefined, after: Facts | undefined): boolean {
  if (before === undefined || after === undefined) return false;
  return before.ino === after.ino && sameTime(before.ctime, after.ctime) && before.size === after.size;
}
