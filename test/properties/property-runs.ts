import type { Parameters } from "fast-check";

const isLong = process.env["DRYDOCK_TEST"] === "long";

/** How often a property is tried, and for how long at most. `DRYDOCK_TEST=long` tries fifty times as often, and without a limit. */
export function runs(count: number, seconds: number): Parameters<never> {
  if (isLong) return { numRuns: count * 50, verbose: 1 };
  return { numRuns: count, interruptAfterTimeLimit: seconds * 1000, verbose: 1 };
}
