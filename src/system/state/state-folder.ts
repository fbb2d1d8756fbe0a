import { accessSync, closeSync, constants, mkdirSync, openSync, type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { StateError, type SystemCallError } from "../../core/errors/errors.ts";
import { bytesFromPath, displayPath } from "../../core/paths/byte-path.ts";
import { failedWith, translated, unlessFailed } from "../calls/errno.ts";
import { Folder } from "../calls/folder.ts";
import { realPathOf } from "../data/locations.ts";
import { flushFile } from "../data/whole-file.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";

/**
 * The state directory, and the files directly in it.
 *
 * A process that can write there can make Drydock change anything in the user's name. So Drydock accepts it
 * only if it belongs to the user and no other user can write to it. Drydock makes folders with mode 0700 and
 * files with 0600.
 */

const OTHERS_CAN_WRITE = 0o022;

/**
 * Makes the state directory if it is missing, with the folders above it. Refuses one that other users can
 * write to.
 */
export function ensureStateFolder(point: Failpoint, path: string): void {
  asStateError(path, () => {
    if (statOf(path) === undefined) makeFolder(point, path);
    const facts = statSync(bytesFromPath(path));
    if (!facts.isDirectory()) {
      throw new StateError(`The state directory ${displayPath(path)} is not a folder.`, {
        hint: "Move that file away, or choose another state directory.",
      });
    }
    refuseWhatOthersControl(path, facts);
    accessSync(bytesFromPath(path), constants.R_OK | constants.W_OK | constants.X_OK);
  });
}

/** Opens a state directory; the user's path may be a link to it. */
export function openStateFolder(path: string): Folder {
  return Folder.open(realPathOf(path) ?? path);
}

/**
 * Makes an empty file of the state directory if it is missing. Refuses one that other users can write to.
 * Returns its size.
 */
export function ensureStateFile(point: Failpoint, path: string): number {
  return asStateError(path, () => {
    if (statOf(path) === undefined) makeFile(point, path);
    const facts = statSync(bytesFromPath(path));
    if (!facts.isFile()) {
      throw new StateError(`${displayPath(path)} is not a file.`, {
        hint: "Move it out of the state directory.",
      });
    }
    refuseWhatOthersControl(path, facts);
    accessSync(bytesFromPath(path), constants.R_OK | constants.W_OK);
    return facts.size;
  });
}

function statOf(path: string): Stats | undefined {
  return statSync(bytesFromPath(path), { throwIfNoEntry: false });
}

/**
 * Flushes each new folder into its parent: a durable record is useless in a folder that a power cut removes.
 */
function makeFolder(point: Failpoint, path: string): void {
  const parent = dirname(path);
  if (statOf(parent) === undefined) makeFolder(point, parent);
  passFailpoint(point);
  try {
    mkdirSync(bytesFromPath(path), { mode: 0o700 });
  } catch (error) {
    if (failedWith(error, "EEXIST")) return;
    throw error;
  }
  const above = openSync(bytesFromPath(parent), constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    flushFile(point, above);
  } finally {
    closeSync(above);
  }
}

/**
 * An existing file must never be opened here: closing it would drop the locks that SQLite holds on it for
 * another connection of this process. So it is created exclusively.
 */
function makeFile(point: Failpoint, path: string): void {
  passFailpoint(point);
  unlessFailed(["EEXIST"], () =>
    closeSync(
      openSync(bytesFromPath(path), constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600),
    ),
  );
}

function refuseWhatOthersControl(path: string, facts: Stats): void {
  const shown = displayPath(path);
  if (facts.uid !== process.geteuid?.()) {
    throw new StateError(
      `${shown} belongs to another user (uid ${facts.uid}), so what it says cannot be trusted.`,
      {
        hint: "Use a state directory of your own, or run as its owner.",
      },
    );
  }
  if ((facts.mode & OTHERS_CAN_WRITE) !== 0) {
    throw new StateError(`${shown} can be written by other users, so what it says cannot be trusted.`, {
      hint: `If nobody tampered with it, run 'chmod go-w ${shown}' and try again.`,
    });
  }
}

function asStateError<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof Error && "syscall" in error)) throw error;
    const failure = translated(error, String(error.syscall), path) as SystemCallError;
    throw new StateError(`Drydock cannot keep its state: ${failure.message}.`, {
      hint: failure.hint,
      cause: error,
    });
  }
}
