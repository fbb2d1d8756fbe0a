const isLong = process.env["DRYDOCK_TEST"] === "long";

/** How often a property is tried, and for how long at most. `DRYDOCK_TEST=long` tries fifty times as often, and without a limit. */
export function runs(
  count: number,
  seconds: number,
): { readonly numRuns: number; readonly interruptAfterTimeLimit?: number } {
  if (isLong) return { numRuns: count * 50 };
  return { numRuns: count, interruptAfterTimeLimit: seconds * 1000 };
}
