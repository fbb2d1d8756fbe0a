import { DrydockError, messageOf } from "../core/errors.ts";
import { type PlainError, reviveError } from "../core/revive-error.ts";
import { NonsenseError } from "./strategy-results.ts";

/** How an error of a strategy is made where it throws none of ours. */
export type ErrorType = new (message: string, options: object) => DrydockError;

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

/** Our own state is nothing that a strategy could speak of. */
function revive(thrown: Error): DrydockError | undefined {
  if (thrown.name === "StateError") return undefined;
  return reviveError(thrown as Error & PlainError, thrown.cause ?? thrown);
}
