import type { CustomStrategy } from "../../config/settings.ts";
import type { ErrorCode } from "../../core/errors/error-codes.ts";
import { StrategyUnavailableError } from "../../core/errors/errors.ts";

/** The error for a strategy of a config that can't be loaded, with the position of its declaration. */
export function unavailable(
  { name, place }: Pick<CustomStrategy, "name" | "place">,
  code: ErrorCode,
  what: string,
  options: { readonly hint?: string; readonly cause?: unknown },
): StrategyUnavailableError {
  return new StrategyUnavailableError(`${place}: strategy ${name}: ${what}`, {
    ...options,
    strategy: name,
    code,
  });
}
