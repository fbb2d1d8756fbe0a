import {
  BusyError,
  type Conflict,
  DrydockError,
  InterruptedError,
  messageOf,
  SandboxCommitError,
  SandboxConflictError,
  SandboxCreationError,
  SandboxRollbackError,
  SandboxStateError,
  StatementError,
  UnsupportedError,
  UsageError,
} from "../core/errors.ts";
import { NonsenseError } from "./strategy-results.ts";

/** How an error of a strategy is made where it throws none of ours. */
export type ErrorType = new (message: string, options: object) => DrydockError;

const REVIVED: { readonly [name: string]: ErrorType } = {
  SandboxCommitError,
  SandboxCreationError,
  SandboxRollbackError,
  StatementError,
  UnsupportedError,
  UsageError,
};

export const BLAME = "This is a defect of that strategy; --debug shows where.";

/**
 * What is thrown when a strategy threw something. An error of ours passes as it is. So does one of another copy of this package, or of a
 * strategy that imports none and says by `name` what it means: it is made anew as ours. Anything else becomes an error that names the strategy. The
 * cause is kept once.
 */
export function errorFrom(thrown: unknown, method: string, strategy: string, type: ErrorType): DrydockError {
  try {
    if (thrown instanceof DrydockError) return thrown;
    if (thrown instanceof NonsenseError) return nonsense(thrown, method, strategy, type);
    const revived = thrown instanceof Error ? revive(thrown) : undefined;
    if (revived !== undefined) return revived;
  } catch {
    // What can't even be looked at is told by its failure below.
  }
  return new type(`${method} of the strategy ${strategy} failed: ${shownMessage(thrown)}`, {
    cause: thrown,
    hint: BLAME,
  });
}

function nonsense({ message, cause }: Error, method: string, strategy: string, type: ErrorType): DrydockError {
  const options = { hint: BLAME, code: "STRATEGY_NONSENSE", cause };
  return new type(`${method} of the strategy ${strategy} ${message}.`, options);
}

function shownMessage(thrown: unknown): string {
  if (thrown === undefined || thrown === null || thrown === "")
    return `it threw ${JSON.stringify(thrown) ?? "undefined"}`;
  return messageOf(thrown) || "it does not say why";
}

function revive(thrown: Error): DrydockError | undefined {
  const { hint, code, conflicts, holder, from, to } = thrown as { readonly [member: string]: unknown } & Error;
  const options = {
    ...(typeof hint === "string" && { hint }),
    ...(typeof code === "string" && { code }),
    cause: thrown.cause ?? thrown,
  };
  const { name, message } = thrown;
  if (name === "SandboxConflictError")
    return new SandboxConflictError(conflictsFrom(conflicts), { ...options, message, code: "CONFLICT" });
  if (name === "SandboxStateError" && typeof from === "string" && typeof to === "string")
    return new SandboxStateError(message, { ...options, from, to });
  if (name === "BusyError") return new BusyError(message, { ...options, holder: String(holder ?? "somebody") });
  if (name === "InterruptedError") return new InterruptedError(message, options);
  const type = Object.hasOwn(REVIVED, name) ? REVIVED[name] : undefined;
  return type === undefined ? undefined : new type(message, options);
}

function conflictsFrom(given: unknown): readonly Conflict[] {
  const list = Array.isArray(given) ? (given as readonly unknown[]) : [];
  return list.flatMap((item) => {
    const { path, why } = (item ?? {}) as { readonly path?: unknown; readonly why?: unknown };
    return typeof path === "string" ? [{ path, why: typeof why === "string" ? why : "it changed meanwhile" }] : [];
  });
}
