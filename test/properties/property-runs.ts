const isLong = process.env["DRYDOCK_TEST"] === "long";

/** The short version tries the same cases each time: what it says of a change is then about the change. The long one is for finding new ones. */
const SEED = 7;

/** How often a property is tried, and for how long at most. `DRYDOCK_TEST=long` tries fifty times as often, at random, and without a limit. */
export function runs(
  count: number,
  seconds: number,
): { readonly numRuns: number; readonly seed?: number; readonly interruptAfterTimeLimit?: number } {
  if (isLong) return { numRuns: count * 50 };
  return { numRuns: count, seed: SEED, interruptAfterTimeLimit: seconds * 1000 };
}
