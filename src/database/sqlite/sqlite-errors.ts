import {
  BusyError,
  DrydockError,
  messageOf,
  StateError,
  StatementError,
  SystemCallError,
  UnsupportedError,
  UsageError,
} from "../../core/errors/errors.ts";
import { displayPath, ROOT_PATH } from "../../core/paths/byte-path.ts";

/** The result codes of SQLite that we distinguish. An extended code has one of them in its lowest byte. */
export const SQLITE = {
  ERROR: 1,
  PERM: 3,
  BUSY: 5,
  LOCKED: 6,
  READONLY: 8,
  IOERR: 10,
  CORRUPT: 11,
  FULL: 13,
  CANTOPEN: 14,
  PROTOCOL: 15,
  TOOBIG: 18,
  CONSTRAINT: 19,
  MISMATCH: 20,
  AUTH: 23,
  NOTADB: 26,
} as const;

/** The journal of a program that died in a transaction, found by a connection that may not roll it back. */
const READONLY_ROLLBACK = 776;

/** The result code of an error from SQLite; undefined for any other error. */
export function sqliteCode(thrown: unknown): number | undefined {
  const code = extendedCode(thrown);
  return code === undefined ? undefined : code & 0xff;
}

function extendedCode(thrown: unknown): number | undefined {
  const isSqlites = thrown instanceof Error && "errcode" in thrown && typeof thrown.errcode === "number";
  return isSqlites ? Number(thrown.errcode) : undefined;
}

/** The table whose constraint an error of SQLite is about; "." if it names none. */
export function constrainedTable(thrown: unknown): string {
  return /failed: ([^.,]+)\./.exec(messageOf(thrown))?.[1] ?? ROOT_PATH;
}

/** Whether another connection held a lock, so that trying again may help. */
export function isBusy(thrown: unknown): boolean {
  const code = sqliteCode(thrown);
  return code === SQLITE.BUSY || code === SQLITE.LOCKED || code === SQLITE.PROTOCOL;
}

/**
 * The error to throw for one from SQLite on this file. An error that is not about the file or the disk stays
 * as it is.
 */
export function databaseError(thrown: unknown, path: string): unknown {
  if (thrown instanceof DrydockError) return thrown;
  const file = displayPath(path);
  if (isBusy(thrown)) return busyError(file, thrown);
  if (extendedCode(thrown) === READONLY_ROLLBACK)
    return new UnsupportedError(
      `A program died while it was writing to ${file}, and has left an unfinished change.`,
      {
        hint: `Open it once with its own program, or by 'sqlite3 ${file} .tables', which takes that change back.`,
        cause: thrown,
      },
    );
  switch (sqliteCode(thrown)) {
    case SQLITE.NOTADB:
      return new UnsupportedError(`${file} is not a SQLite database, or it is encrypted.`, {
        hint: "Use type=fs-file to work on it as a file, or decrypt it first.",
        cause: thrown,
        code: "NOT_A_DATABASE",
      });
    case SQLITE.CORRUPT:
      return new StateError(`The database ${file} is damaged: ${messageOf(thrown)}.`, {
        hint: `Restore it from a backup, or try 'sqlite3 ${file} .recover'.`,
        cause: thrown,
        code: "DAMAGED",
      });
    case SQLITE.FULL:
      return new SystemCallError("ENOSPC", "write", path, "no space left on device");
    case SQLITE.PERM:
    case SQLITE.READONLY:
    case SQLITE.CANTOPEN:
    case SQLITE.IOERR:
      return new UnsupportedError(`The database ${file} can't be opened or written: ${messageOf(thrown)}.`, {
        hint: "Check that the file and its folder may be written by you, that the file system is not read-only, and has room.",
        cause: thrown,
        code: "NO_ACCESS",
      });
    default:
      return thrown;
  }
}

/** The error to throw for failed statements of a user. `which` numbers the statement if there are several. */
export function statementError(thrown: unknown, path: string, which = ""): unknown {
  if (sqliteCode(thrown) === SQLITE.READONLY)
    return new UsageError(`The statement${which} writes, and only reading is allowed.`, {
      cause: thrown,
      code: "READ_ONLY",
    });
  const mapped = databaseError(thrown, path);
  if (mapped !== thrown || sqliteCode(thrown) === undefined) return mapped;
  const denied = sqliteCode(thrown) === SQLITE.AUTH;
  return new StatementError(`The statement${which} failed: ${messageOf(thrown)}.`, {
    ...(denied && { hint: "Inside a sandbox no other database can be attached, and no file written." }),
    cause: thrown,
  });
}

function busyError(file: string, cause: unknown): BusyError {
  return new BusyError(`Another program keeps the database ${file} locked.`, {
    holder: "another program",
    cause,
  });
}
