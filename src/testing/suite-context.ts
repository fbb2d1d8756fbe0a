import type { StrategyContext } from "../core/strategy.ts";

/** What a strategy gets from the suite. Its own failpoints are passed in the processes that are killed, and mean nothing here. */
export function suiteContext(stateDir: string, recordIntent: StrategyContext["recordIntent"]): StrategyContext {
  return {
    stateDir,
    policy: { allowSetid: false, allowDevices: false },
    recordIntent,
    failpoint: () => undefined,
    now: () => new Date(),
    progress: () => undefined,
    signal: new AbortController().signal,
  };
}
