import { BusyError, DrydockError, messageOf, StateError } from "../core/errors/errors.ts";

/** The result codes of SQLite that we distinguish; an extended code has one of them in its lowest byte. */
const PERM = 3;
const BUSY = 5;
const LOCKED = 6;
const READONLY = 8;
const IOERR = 10;
const CORRUPT = 11;
const FULL = 13;
const CANTOPEN = 14;
const PROTOCOL = 15;
const NOTADB = 26;

/** The code of an error from node:sqlite; undefined for any other error. */
function resultCode(thrown: unknown): number | undefined {
  const isOurs = thrown instanceof Error && "errcode" in thrown && typeof thrown.errcode === "number";
  return isOurs ? Number(thrown.errcode) & 0xff : undefined;
}

/** Whether another process held the database (PROTOCOL is a lost race for the lock of a new log). */
export function isBusy(thrown: unknown): boolean {
  const code = resultCode(thrown);
  return code === BUSY || code === LOCKED || code === PROTOCOL;
}

/**
 * The error to throw for an error of SQLite. An error that is not about the state of the world stays as it
 * is. `file` is printable.
 */
export function storeError(thrown: unknown, file: string): unknown {
  if (thrown instanceof DrydockError) return thrown;
  if (isBusy(thrown)) return busyState(file, thrown);
  switch (resultCode(thrown)) {
    case CORRUPT:
    case NOTADB:
      return corruptState(file, thrown);
    case PERM:
    case READONLY:
    case CANTOPEN:
      return new StateError(
        `Drydock's state in ${file} cannot be opened for writing: ${messageOf(thrown)}.`,
        {
          hint: "Check the permissions of its folder and of every file in it, and that the file system is not read-only.",
          cause: thrown,
        },
      );
    case FULL:
      return new StateError(
        `There is no room for Drydock's state in ${file}; nothing of this step was recorded.`,
        {
          hint: "Make room on its file system and try again; cancelling plans and purging leftovers work without.",
          cause: thrown,
        },
      );
    case IOERR:
      return new StateError(`Drydock's state in ${file} cannot be read or written: ${messageOf(thrown)}.`, {
        hint:
          "Check that its file system has room (cancelling plans and purging leftovers work without), and the kernel log for errors of the " +
          "device, before trying again.",
        cause: thrown,
      });
    default:
      return thrown;
  }
}

/** The database is damaged, or is not a database. */
export function corruptState(file: string, cause: unknown): StateError {
  return new StateError(`Drydock's state in ${file} is damaged: ${messageOf(cause)}.`, {
    hint:
      `Restore it from a backup, or try 'sqlite3 ${file} .recover'. To start over without the plans in it, move it and its -wal ` +
      "and -shm files away; what their sandboxes hold stays on disk.",
    cause,
  });
}

/** The database is empty, though it was not before. */
export function emptyState(file: string): StateError {
  return corruptState(file, new Error("it is empty, and was not before"));
}

/** The database belongs to another program. */
export function foreignState(file: string): StateError {
  return new StateError(`${file} is a database of another program, not Drydock's state.`, {
    hint: "Move it away, or choose another state directory.",
  });
}

/** A newer Drydock wrote the database. */
export function newerState(file: string, version: number, known: number): StateError {
  return new StateError(
    `Drydock's state in ${file} needs schema version ${version}; this Drydock knows versions up to ${known}.`,
    {
      hint: "Use the newer Drydock that wrote it, or another state directory.",
    },
  );
}

/** The file system can't hold the shared memory of write-ahead logging. */
export function unloggableState(file: string): StateError {
  return new StateError(
    `The file system of ${file} does not support what Drydock's state needs (write-ahead logging).`,
    {
      hint: "Choose a state directory on a local file system.",
    },
  );
}

function busyState(file: string, cause: unknown): BusyError {
  return new BusyError(`Other processes kept Drydock's state in ${file} locked for too long.`, {
    holder: "another Drydock process",
    cause,
  });
}
