import fc from "fast-check";
import { IS_LONG } from "../support/long-form.ts";

/** `SEED` or `SEED,PATH` as a failure prints them: tries that again. */
const [seed, path] = (process.env["DRYDOCK_TEST_SEED"] ?? "").split(",");

/** How many times as often the long form tries. */
const LONG = 200;
/** And the normal one. */
const NORMAL = 0.5;

/**
 * How often a property is tried, and for how long at most. A normal run tries half as often, for half as
 * long; `DRYDOCK_TEST=long` tries two hundred times as often, without a limit.
 */
export function runs(
  count: number,
  seconds: number,
): {
  readonly numRuns: number;
  readonly seed?: number;
  readonly path?: string;
  readonly endOnFailure?: boolean;
  readonly interruptAfterTimeLimit?: number;
} {
  return {
    numRuns: Math.ceil(count * (IS_LONG ? LONG : NORMAL)),
    ...(!IS_LONG && { interruptAfterTimeLimit: seconds * NORMAL * 1000 }),
    ...(seed && { seed: Number(seed) }),
    ...(path && { path, endOnFailure: true }),
  };
}

/**
 * So long a counterexample is made smaller. Each try is a run of its own: without an end, a failure in a long
 * run would look like one that hangs.
 */
const SHRINK_MS = 60_000;

/**
 * Tries a property as often and as long as `runs` says. Out of time, the run that is under way still goes to
 * its end: the limit of fast-check would leave it behind, at work in folders that the test then removes.
 */
export async function assertInTime<T>(
  property: fc.IAsyncProperty<T>,
  count: number,
  seconds: number,
): Promise<void> {
  const { interruptAfterTimeLimit, ...parameters } = runs(count, seconds);
  let end = Date.now() + (interruptAfterTimeLimit ?? Number.POSITIVE_INFINITY);
  let hasFailed = false;
  const run = property.run.bind(property);
  property.run = async (value) => {
    if (Date.now() >= end) return null;
    const failure = await run(value);
    if (failure !== null && !fc.PreconditionFailure.isFailure(failure) && !hasFailed) {
      hasFailed = true;
      end = Math.min(end, Date.now() + SHRINK_MS);
    }
    return failure;
  };
  await fc.assert(property, parameters);
}
