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
import { milliseconds } from "../../system/milliseconds.ts";
import { copyFileInTurns } from "./file-copy.ts";

const POINTS = { copy: failpoint("sqlite.copy-original") };
const MAGIC = "SQLite format 3\0";
const VERSION_AT = 19;
const WAL_VERSION = 2;
/** Two changes of a file within this time may show the same change time. */
const CLOCK_TICK_MS = 20;

/**
 * The kind of database that the first bytes of a file show. An empty file is an empty database; undefined
 * means that it is no database.
 */
export function databaseKind(location: string): "empty" | "journal" | "wal" | undefined {
  const header = firstBytes(location, MAGIC.length + 4);
  if (header.length === 0) return "empty";
  if (header.toString("latin1", 0, MAGIC.length) !== MAGIC) return undefined;
  return header[VERSION_AT] === WAL_VERSION ? "wal" : "journal";
}

/** The error for a file that is no database. */
export function notADatabase(location: string): UnsupportedError {
  return new UnsupportedError(`${displayPath(location)} is not a SQLite database, or it is encrypted.`, {
    hint: "Use type=fs-file to work on it as a file, or decrypt it first.",
    code: "NOT_A_DATABASE",
  });
}

/**
 * Copies a live database, as it is at one instant, into a new file. The copy includes the content of the
 * write-ahead log. The original is only read.
 *
 * - With a rollback journal, the file does not change while we hold a read lock. It is copied as a file,
 *   sharing blocks where that works.
 * - In WAL mode, if no program has it open, SQLite would make files beside it to read it at all. It is copied
 *   as a file without a lock, and copied again if another program has changed it meanwhile.
 * - In WAL mode, if a program has it open, it is copied page by page through SQLite, which knows the log.
 */
export async function copyLiveDatabase(
  location: string,
  to: Folder,
  name: string,
  patience: Patience,
): Promise<void> {
  const deadline = milliseconds() + patience.limitMs;
  for (;;) {
    if (patience.signal?.aborted === true) throw new InterruptedError();
    removeTree(POINTS.copy, to, name);
    const kind = databaseKind(location);
    if (kind === undefined) throw notADatabase(location);
    if (kind === "wal" && isInUse(location)) return await copyPages(location, to.label(name), patience);
    if (kind !== "wal") return await copyLocked(location, "read", { folder: to, name }, patience);
    const before = await settledFacts(location);
    await copyLocked(location, "frozen", { folder: to, name }, patience);
    if (isSame(before, factsOfPath(location)) && !isInUse(location)) return;
    if (milliseconds() > deadline)
      throw new BusyError(`${displayPath(location)} changes all the time, so it can't be copied.`, {
        holder: "another program",
      });
  }
}

/** Whether the files exist that accompany an open database in WAL mode, or one whose program was killed. */
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
  to: { readonly folder: Folder; readonly name: string },
  patience: Patience,
): Promise<void> {
  using _source = await beginReading(location, mode, patience);
  using folder = Folder.open(parentPath(location));
  await copyFileInTurns(POINTS.copy, { folder, name: baseName(location) }, to, patience.signal);
}

/**
 * Begins a read transaction, which the caller holds until the copy is complete, so that all of it is from one
 * instant.
 */
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

/** The facts of a file, taken when any later change will show another change time. */
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
