import { DrydockError, messageOf, SandboxCommitError } from "../../core/errors/errors.ts";
import { type PlainError, reviveError } from "../../core/errors/revive-error.ts";
import { METHODS, type MethodName } from "./method-table.ts";

const DEFECT_HINT = "This is a defect of that strategy; --debug shows where.";

/**
 * The error for whatever a method of a strategy threw. An error of ours passes as it is. So does one of
 * another copy of this package, or of a strategy that imports none and says by `name` what it means: it is
 * made anew as ours. Anything else becomes an error that names the strategy. The cause is kept once.
 */
export function errorFrom(thrown: unknown, method: MethodName, strategy: string): DrydockError {
  try {
    if (thrown instanceof DrydockError) return thrown;
    const revived = thrown instanceof Error ? revive(thrown) : undefined;
    if (revived !== undefined) return revived;
  } catch {
    // The failure of the method itself is told, below, and not that of looking at what it threw.
  }
  return failure(method, strategy, `failed: ${shownMessage(thrown)}`, { cause: thrown });
}

/** The error for an answer that makes no sense. */
export function invalidResult(method: MethodName, strategy: string, problem: string): DrydockError {
  return failure(method, strategy, `returned ${problem}.`, { code: "STRATEGY_NONSENSE" });
}

function failure(method: MethodName, strategy: string, what: string, options: object): DrydockError {
  const { error = SandboxCommitError } = METHODS[method];
  return new error(`${method} of the strategy ${strategy} ${what}`, { hint: DEFECT_HINT, ...options });
}

function shownMessage(thrown: unknown): string {
  if (thrown === undefined || thrown === null || thrown === "")
    return `it threw ${JSON.stringify(thrown) ?? "undefined"}`;
  return messageOf(thrown) || "it does not say why";
}

/** A strategy can't speak of Drydock's own state. */
function revive(thrown: Error): DrydockError | undefined {
  if (thrown.name === "StateError") return undefined;
  return reviveError(thrown as Error & PlainError, thrown.cause ?? thrown);
}
