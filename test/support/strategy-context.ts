import type { StrategyContext } from "../../src/core/strategy.ts";

/** What a strategy needs from outside, with nobody there to listen. */
export function contextIn(stateDir: string): StrategyContext {
  const nothing = () => undefined;
  return {
    stateDir,
    policy: { allowSetid: false, allowDevices: false },
    recordIntent: () => Promise.resolve(),
    failpoint: nothing,
    now: () => new Date(),
    progress: nothing,
    signal: new AbortController().signal,
  };
}
