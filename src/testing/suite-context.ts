import type { StrategyContext } from "../core/strategy.ts";

/** The context that the suite gives a strategy. */
export function suiteContext(
  stateDir: string,
  recordIntent: StrategyContext["recordIntent"],
  more: Partial<Pick<StrategyContext, "failpoint" | "environment">> = {},
): StrategyContext {
  return {
    stateDir,
    policy: { allowSetid: false, allowDevices: false },
    recordIntent,
    failpoint: () => undefined,
    now: () => new Date(),
    progress: () => undefined,
    signal: new AbortController().signal,
    ...more,
  };
}
