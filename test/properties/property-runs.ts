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
