import { StatementError } from "../../core/errors/errors.ts";
import {
  badStatement,
  changedByOthers,
  driverError,
  isUnreachable,
  lockedByOthers,
  noSuchDatabase,
  passwordInTheClear,
  serverDown,
  wrongLogin,
} from "../server/server-errors.ts";

/** The driver's names of the errors of MySQL and MariaDB that we distinguish. */
const LOGIN = [
  "ER_ACCESS_DENIED_ERROR",
  "ER_ACCESS_DENIED_NO_PASSWORD_ERROR",
  "ER_HOST_NOT_PRIVILEGED",
  "ER_NOT_SUPPORTED_AUTH_MODE",
];
const DOWN = [
  "ER_CON_COUNT_ERROR",
  "ER_SERVER_SHUTDOWN",
  "ER_CONNECTION_KILLED",
  "ER_TOO_MANY_USER_CONNECTIONS",
];
const DENIED = [
  "ER_TABLEACCESS_DENIED_ERROR",
  "ER_COLUMNACCESS_DENIED_ERROR",
  "ER_DBACCESS_DENIED_ERROR",
  "ER_SPECIFIC_ACCESS_DENIED_ERROR",
  "ER_PROCACCESS_DENIED_ERROR",
  "ER_OPTION_PREVENTS_STATEMENT",
];
/**
 * Another session has changed the row since the transaction began (with innodb_snapshot_isolation), and the
 * server has given the transaction up.
 */
const CHANGED = ["ER_CHECKREAD", "ER_LOCK_DEADLOCK"];

/** Thrown inside of the driver, which passes on only errors of its own kind. */
export const ASKED_UNDER_KEY = "the server asks for the password under a key of its own";

/** The error to throw for one from MySQL, MariaDB or the connection. */
export function mysqlError(
  thrown: unknown,
  location: string,
  secret: string | undefined,
  which?: string,
): unknown {
  const error = driverError(thrown, secret);
  if (error === undefined) return thrown;
  const { code, message } = error;
  const isClosed = /closed state|Connection lost|PROTOCOL_/.test(`${message} ${code}`);
  if (isUnreachable(error) || isClosed || DOWN.includes(code)) return serverDown(location, message);
  if (message === ASKED_UNDER_KEY)
    return passwordInTheClear(location, "under a key of its own", "get-server-public-key=1");
  if (code === "MYSQL_CLEAR_PASSWORD_NOT_ENABLED")
    return passwordInTheClear(location, "in the clear", "enable-cleartext-plugin=1");
  if (LOGIN.includes(code)) return wrongLogin(location, message);
  if (code === "ER_BAD_DB_ERROR") return noSuchDatabase(location, message);
  if (which === undefined && code === "ER_DBACCESS_DENIED_ERROR") return wrongLogin(location, message);
  if (which === undefined) return code === "" ? thrown : badStatement("", message);
  if (code === "ER_LOCK_WAIT_TIMEOUT") return lockedByOthers(which, message);
  if (CHANGED.includes(code)) return changedByOthers(which, message, TRY_AGAIN);
  if (DENIED.includes(code))
    return badStatement(
      which,
      message,
      "Use a database user with that privilege; the sandbox is as it was before it.",
    );
  return Object.assign(badStatement(which, message), { cause: { code } });
}

/** The driver's name of the error with which the server refused a statement, if that has none of its own. */
export function refusalCode(thrown: unknown): string | undefined {
  const cause = thrown instanceof StatementError ? thrown.cause : undefined;
  return typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : undefined;
}

/** The names of errors that are known by their number alone. */
const NAMES = new Map([
  [1020, "ER_CHECKREAD"],
  [1205, "ER_LOCK_WAIT_TIMEOUT"],
  [1213, "ER_LOCK_DEADLOCK"],
]);

/** The error for work of a client that could not be done again. */
export function repeatedError(
  { code, message }: { code: number; message: string },
  location: string,
): unknown {
  const error = Object.assign(new Error(message), { code: NAMES.get(code) ?? `error ${code}` });
  return mysqlError(error, location, undefined, " of a client");
}

const TRY_AGAIN =
  "What the plan did before was done again on the rows as they are now, with the same results. Look at them, then try again.";
