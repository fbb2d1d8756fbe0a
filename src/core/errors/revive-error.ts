import { isErrorCode } from "./error-codes.ts";
import {
  BusyError,
  type Conflict,
  DrydockError,
  type ErrorDetails,
  InterruptedError,
  SandboxCommitError,
  SandboxConflictError,
  SandboxCreationError,
  SandboxRollbackError,
  SandboxStateError,
  StateError,
  StatementError,
  UnsupportedError,
  UsageError,
} from "./errors.ts";

/** An error of ours as plain data. Its facts are in `details`, or beside its name and message. */
export interface PlainError {
  readonly name: string;
  readonly message: string;
  readonly [fact: string]: unknown;
}

const REVIVED: { readonly [name: string]: new (message: string, options: object) => DrydockError } = {
  InterruptedError,
  SandboxCommitError,
  SandboxCreationError,
  SandboxRollbackError,
  StateError,
  StatementError,
  UnsupportedError,
  UsageError,
};

/** The data from which `reviveError` makes the error again. */
export function plainError({ name, message, code, hint, details }: DrydockError): PlainError {
  return { name, message, code, hint, details };
}

/**
 * Makes an error of ours again that came from another process as plain data, or from another copy of this
 * package. Does not rely on the types of its facts. An error whose class can't be made again keeps its code
 * and its details. Undefined if it is no error of ours.
 */
export function reviveError(error: PlainError, cause?: unknown): DrydockError | undefined {
  const { name, message, hint, code } = error;
  const details = detailsFrom(error["details"]);
  const { conflicts, holder, from, to } = { ...error, ...details };
  const options = {
    ...(typeof hint === "string" && { hint }),
    ...(isErrorCode(code) && { code }),
    ...(cause !== undefined && { cause }),
    ...(details !== undefined && { details }),
  };
  if (name === "SandboxConflictError")
    return new SandboxConflictError(conflictsFrom(conflicts), { ...options, message, code: "CONFLICT" });
  if (name === "SandboxStateError" && typeof from === "string" && typeof to === "string")
    return new SandboxStateError(message, { ...options, from, to });
  if (name === "BusyError")
    return new BusyError(message, { ...options, holder: String(holder ?? "another process") });
  const type = Object.hasOwn(REVIVED, name) ? REVIVED[name] : undefined;
  if (type !== undefined) return new type(message, options);
  return isErrorCode(code) && details !== undefined ? new DrydockError(code, message, options) : undefined;
}

function detailsFrom(given: unknown): ErrorDetails | undefined {
  return typeof given === "object" && given !== null ? (given as ErrorDetails) : undefined;
}

function conflictsFrom(given: unknown): readonly Conflict[] {
  const list = Array.isArray(given) ? (given as readonly unknown[]) : [];
  return list.flatMap((item) => {
    const { path, why } = (item ?? {}) as { readonly path?: unknown; readonly why?: unknown };
    return typeof path === "string"
      ? [{ path, why: typeof why === "string" ? why : "it changed meanwhile" }]
      : [];
  });
}
