import { DrydockError, messageOf, SandboxCommitError } from "../../core/errors/errors.ts";
import { type PlainError, reviveError } from "../../core/errors/revive-error.ts";
import { METHODS, type MethodName } from "./method-table.ts";

/**
 * The error to throw for whatever a method of a strategy threw. An error of ours stays as it is. An error of
 * another copy of this package, or one whose `name` is that of an error of ours, is rebuilt as ours. Anything
 * else becomes an error that names the strategy. The cause appears once.
 */
export function errorFrom(thrown: unknown, method: MethodName, strategy: string): DrydockError {
  try {
    if (thrown instanceof DrydockError) return thrown;
    const revived = thrown instanceof Error ? revive(thrown) : undefined;
    if (revived !== undefined) return revived;
  } catch {
    // Looking at the thrown value failed. Report the failure of the method, not this one.
  }
  return failure(method, strategy, `failed: ${shownMessage(thrown)}`, { cause: thrown, code: "STRATEGY" });
}

/** The error for an invalid result. */
export function invalidResult(method: MethodName, strategy: string, problem: string): DrydockError {
  return failure(method, strategy, `returned ${problem}.`, { code: "STRATEGY_NONSENSE" });
}

function failure(method: MethodName, strategy: string, what: string, options: object): DrydockError {
  const { error = SandboxCommitError } = METHODS[method];
  return new error(`${method} of the strategy ${strategy} ${what}`, options);
}

function shownMessage(thrown: unknown): string {
  if (thrown === undefined || thrown === null || thrown === "")
    return `it threw ${JSON.stringify(thrown) ?? "undefined"}`;
  return messageOf(thrown) || "it does not say why";
}

/**
 * The error of ours that this one stands for by its name, if any. A `StateError` is about Drydock's own
 * state, so a strategy can't throw one.
 */
export function revive(thrown: Error): DrydockError | undefined {
  if (thrown.name === "StateError") return undefined;
  return reviveError(thrown as Error & PlainError, thrown.cause ?? thrown);
}
