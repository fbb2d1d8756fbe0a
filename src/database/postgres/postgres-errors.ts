import { StatementError, UsageError } from "../../core/errors/errors.ts";
import {
  badStatement,
  changedByOthers,
  driverError,
  isUnreachable,
  lockedByOthers,
  noSuchDatabase,
  serverDown,
  wrongLogin,
} from "../server/server-errors.ts";

/** The codes of PostgreSQL (SQLSTATE) that we distinguish. */
const STATE = {
  noSuchDatabase: "3D000",
  wrongPassword: "28P01",
  notAllowedIn: "28000",
  tooManyConnections: "53300",
  noPrivilege: "42501",
  readOnly: "25006",
  serialization: "40001",
  deadlock: "40P01",
  lockNotAvailable: "55P03",
  startingUp: "57P03",
  shutDown: /^(?:57P0[12]|08...)$/,
} as const;

/** The error to throw for one from PostgreSQL or the connection. */
export function postgresError(
  thrown: unknown,
  location: string,
  secret: string | undefined,
  which?: string,
): unknown {
  const error = driverError(thrown, secret);
  if (error === undefined) return thrown;
  const { code, message } = error;
  if (isUnreachable(error) || code === STATE.startingUp || STATE.shutDown.test(code))
    return serverDown(location, message);
  if (code === STATE.tooManyConnections) return serverDown(location, message);
  if (code === STATE.wrongPassword || code === STATE.notAllowedIn) return wrongLogin(location, message);
  if (/^SASL|password must be a string/.test(message)) return wrongLogin(location, "it wants a password");
  if (code === STATE.noSuchDatabase) return noSuchDatabase(location, message);
  if (which === undefined) return code === "" ? thrown : badStatement("", message);
  if (code === STATE.lockNotAvailable) return lockedByOthers(which, message);
  if (code === STATE.serialization || code === STATE.deadlock)
    return changedByOthers(which, message, code === STATE.deadlock ? TRY_AGAIN : START_OVER);
  if (code === STATE.readOnly)
    return new UsageError(`The statement${which} writes, and only reading is allowed: ${message}.`, {
      hint: "Make a plan that is not read-only, and use a server and a user that may write.",
      code: "READ_ONLY",
    });
  if (code === STATE.noPrivilege)
    return badStatement(
      which,
      message,
      "Use a database user with that privilege; the sandbox is as it was before it.",
    );
  return Object.assign(badStatement(which, message), { cause: { code } });
}

/** The code (SQLSTATE) with which PostgreSQL refused a statement, if it has no error of its own here. */
export function refusalCode(thrown: unknown): string | undefined {
  const cause = thrown instanceof StatementError ? thrown.cause : undefined;
  return typeof cause === "object" && cause !== null && "code" in cause ? String(cause.code) : undefined;
}

const TRY_AGAIN = "Try again; the sandbox is as it was before it.";
const START_OVER =
  "The sandbox is as it was before it, and shows the database as it was. A rollback of the plan begins anew with the rows as they are now.";
