import { isDeepStrictEqual } from "node:util";
import { messageOf } from "../core/errors/errors.ts";

/** The strategy broke the contract. The message says what it should have done, and what it did. */
export class ConformanceFailure extends Error {
  constructor(message: string, options?: { readonly cause: unknown }) {
    super(message, options);
    this.name = "ConformanceFailure";
  }
}

/** Fails unless the condition holds. */
export function expect(holds: boolean, otherwise: string): asserts holds {
  if (!holds) throw new ConformanceFailure(otherwise);
}

export function expectEqual(actual: unknown, expected: unknown, what: string): void {
  if (isDeepStrictEqual(actual, expected)) return;
  throw new ConformanceFailure(
    `${what}: is ${JSON.stringify(actual)}, should be ${JSON.stringify(expected)}`,
  );
}

/** Fails if there are any differences. */
export function expectNone(differences: readonly string[], what: string): void {
  if (differences.length === 0) return;
  const shown = differences.slice(0, 12).map((line) => `\n  ${line}`);
  const more = differences.length > 12 ? `\n  and ${differences.length - 12} more` : "";
  throw new ConformanceFailure(`${what}:${shown.join("")}${more}`);
}

/**
 * Fails unless the action throws; returns the error. With `name`, the error has to be of the class of that
 * name.
 */
export async function expectRefusal(
  action: () => Promise<unknown>,
  what: string,
  name?: string,
): Promise<Error> {
  const thrown = await outcomeOf(action);
  if (thrown === undefined) throw new ConformanceFailure(`${what} should be refused, but was done`);
  if (!(thrown.error instanceof Error))
    throw new ConformanceFailure(
      `${what} was refused by throwing ${String(thrown.error)}, which is no Error`,
    );
  // Compares names, because a plug-in may bring its own copy of the classes.
  if (name !== undefined && thrown.error.name !== name)
    throw new ConformanceFailure(
      `${what} should be refused by ${name}, but was by ${thrown.error.name}: ${messageOf(thrown.error)}`,
      { cause: thrown.error },
    );
  return thrown.error;
}

async function outcomeOf(action: () => Promise<unknown>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    return { error };
  }
}
