import fc from "fast-check";

const isLong = process.env["DRYDOCK_TEST"] === "long";
/** `SEED` or `SEED,PATH` as a failure prints them: tries that again. */
const [seed, path] = (process.env["DRYDOCK_TEST_SEED"] ?? "").split(",");

/** How often a property is tried, and for how long at most. `DRYDOCK_TEST=long` tries fifty times as often, without a limit. */
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
    numRuns: isLong ? count * 50 : count,
    ...(!isLong && { interruptAfterTimeLimit: seconds * 1000 }),
    ...(seed && { seed: Number(seed) }),
    ...(path && { path, endOnFailure: true }),
  };
}

/**
 * Tries a property as often and as long as `runs` says. Out of time, the run that is under way still goes to its end: the
 * limit of fast-check would leave it behind, at work in folders that the test then removes.
 */
export async function assertInTime<T>(property: fc.IAsyncProperty<T>, count: number, seconds: number): Promise<void> {
  const { interruptAfterTimeLimit, ...parameters } = runs(count, seconds);
  const end = Date.now() + (interruptAfterTimeLimit ?? Number.POSITIVE_INFINITY);
  const run = property.run.bind(property);
  property.run = async (value) => (Date.now() < end ? await run(value) : null);
  await fc.assert(property, parameters);
}
