import {
  BusyError,
  DrydockError,
  messageOf,
  SandboxConflictError,
  StateError,
  StatementError,
  UnsupportedError,
  UsageError,
} from "../../core/errors/errors.ts";
import { hideSecret } from "../../core/resource/secret-url.ts";

/** Errors of database servers, in words for people. Both drivers map the errors of their server to these. */

/** The code for a server that can't be reached now; trying again later may help. */
export const SERVER_DOWN = "SERVER_DOWN";

const UNREACHABLE = [
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOTFOUND",
  "EAI_AGAIN",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOENT",
  "EPIPE",
  "PROTOCOL_CONNECTION_LOST",
];

/** The facts of an error that a driver threw. */
export interface DriverError {
  readonly code: string;
  readonly message: string;
}

/** The facts of an error that a driver threw, without the secret; undefined for anything else. */
export function driverError(thrown: unknown, secret: string | undefined): DriverError | undefined {
  if (!(thrown instanceof Error) || thrown instanceof DrydockError) return undefined;
  const inner = thrown instanceof AggregateError ? (thrown.errors[0] as unknown) : undefined;
  if (inner instanceof Error) return driverError(inner, secret);
  const code = "code" in thrown && typeof thrown.code === "string" ? thrown.code : "";
  return { code, message: hideSecret(messageOf(thrown), secret).replace(/[.\s]+$/, "") };
}

/** Whether there is no connection, or it is lost. */
export function isUnreachable({ code, message }: DriverError): boolean {
  return (
    UNREACHABLE.includes(code) ||
    /^(?:Connection terminated|timeout expired|connect ETIMEDOUT|read E)/.test(message)
  );
}

export function serverDown(location: string, why: string): UnsupportedError {
  return new UnsupportedError(`The server of ${location} can't be reached: ${why}.`, {
    hint: "Check that it is running, and that host and port are right.",
    code: SERVER_DOWN,
  });
}

export function wrongLogin(location: string, why: string): UsageError {
  return new UsageError(`The server of ${location} does not let us in: ${why}.`, {
    hint: "Check user and password; the password may come from the environment by ${NAME} in drydock.yaml.",
    code: "NO_ACCESS",
  });
}

export function noSuchDatabase(location: string, why: string): UsageError {
  return new UsageError(`There is no such database: ${location} (${why}).`, {
    hint: "Check the name of the database; a resource has to exist.",
    code: "NO_SUCH_RESOURCE",
  });
}

/** The server sends more for a statement than we accept. */
export function answerTooLarge(location: string, mostBytes: number, isOwn: boolean): DrydockError {
  const most = `${mostBytes >> 20} MiB`;
  if (isOwn)
    return new UnsupportedError(
      `The server of ${location} sends more than ${most} where a few rows are asked for.`,
      {
        hint: "Check that it is the server that you mean.",
        code: "TOO_LARGE",
      },
    );
  return new StatementError(`The answer to the statement is larger than ${most}.`, {
    hint: "Ask for less: name the columns, add a WHERE or a LIMIT. The sandbox is as it was before it.",
    code: "TOO_LARGE",
  });
}

/**
 * The server asks for the password itself. On this connection others may listen, or pretend to be the server.
 */
export function passwordInTheClear(location: string, how: string, allow: string): UsageError {
  return new UsageError(
    `The server of ${location} asks for the password ${how}, and the connection is not encrypted. It was not sent.`,
    {
      hint: `Use TLS or a local socket. If you trust the network to this server, add '${allow}' to the parameters of the URL.`,
      code: "PASSWORD_IN_THE_CLEAR",
    },
  );
}

/** Another transaction has locked what a statement needs, and did not release it in time. */
export function lockedByOthers(which: string, why: string): BusyError {
  return new BusyError(`The statement${which} waited too long for another transaction: ${why}.`, {
    holder: "another transaction",
    hint: "Try again when the other transaction has ended; the sandbox is as it was before it.",
    code: "LOCKED",
  });
}

/** Another writer has changed the same rows since the transaction of the plan began. */
export function changedByOthers(which: string, why: string, hint: string): SandboxConflictError {
  return new SandboxConflictError([{ path: ".", why }], {
    message: `The statement${which} meets rows that another session has changed since the plan was made: ${why}.`,
    hint,
  });
}

/** The server rejects a statement of the user's. */
export function badStatement(which: string, why: string, hint?: string): StatementError {
  return new StatementError(`The statement${which} failed: ${why}.`, hint === undefined ? {} : { hint });
}

/** The transaction ended, although nothing that we sent could end it. */
export function endedByItself(location: string): StateError {
  return new StateError(`The server of ${location} ended the transaction of the plan by itself.`, {
    hint: "The changes of its statements may have landed or be gone: look at the database, then cancel the plan.",
    code: "TRANSACTION_ENDED",
  });
}

/** " 2 of 5", where there are several statements. */
export function whichOf(index: number, count: number): string {
  return count === 1 ? "" : ` ${index + 1} of ${count}`;
}
