import { type CustomStrategy, DEFAULT_CALL_LIMIT_MS } from "../../config/settings.ts";
import { DrydockError, StrategyUnavailableError } from "../../core/errors/errors.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { IntendedPlace, SandboxStrategy, StrategyContext } from "../../core/strategy.ts";
import type { LoadedStrategy, StrategyMaker } from "../registered-strategy.ts";
import type { SandboxStrategyRegistry } from "../registry.ts";
import { CustomCalls } from "./custom-calls.ts";

type Options = CustomStrategy["options"];

export interface CustomParts {
  readonly registry: SandboxStrategyRegistry;
  /** The context of built-in strategies. */
  readonly context: StrategyContext;
  /** Records a loss that the strategy of this name reports. Refuses one for a sandbox of another strategy. */
  recordLoss(ref: SandboxRef, why: string, strategyName: string): Promise<void>;
}

/** Registers a strategy that a program passes in. */
export function registerCustom(
  parts: CustomParts,
  make: (context: StrategyContext) => SandboxStrategy,
): void {
  const custom = new CustomCalls(DEFAULT_CALL_LIMIT_MS, () => parts.context.signal);
  const strategy: SandboxStrategy = make(contextFor(parts, custom, () => strategy.name));
  parts.registry.register(strategy, custom);
}

/** Declares a strategy of a config. It is loaded when it is needed. */
export function declareCustom(parts: CustomParts, declared: CustomStrategy): void {
  const { name, options } = declared;
  parts.registry.declare({
    name,
    ...(options !== undefined && { options }),
    load: (given) => load(parts, declared, given),
    maker: () => makerOf(parts, declared, options),
  });
}

async function makerOf(
  { context: { environment = {} } }: CustomParts,
  { options: _, ...declared }: CustomStrategy,
  options: Options,
): Promise<StrategyMaker> {
  const { loadStrategy } = await import("./load-strategy.ts");
  return await loadStrategy({ ...declared, ...(options !== undefined && { options }) }, environment);
}

async function load(parts: CustomParts, declared: CustomStrategy, options: Options): Promise<LoadedStrategy> {
  const { name, limitMilliseconds } = declared;
  const custom = new CustomCalls(limitMilliseconds, () => parts.context.signal);
  const context = contextFor(parts, custom, () => name);
  try {
    const strategy = await custom.limit.within(
      { strategy: name, method: "loading", finishes: false },
      async () => (await makerOf(parts, declared, options)).make(context),
    );
    return { strategy, custom };
  } catch (thrown) {
    if (!(thrown instanceof DrydockError) || thrown.code !== "STRATEGY_TIMEOUT") throw thrown;
    const { message, hint } = thrown;
    throw new StrategyUnavailableError(message, {
      hint,
      strategy: name,
      code: "STRATEGY_MODULE",
      cause: thrown,
    });
  }
}

/**
 * The context of a strategy of the user's own. The strategy can record only its own sandboxes, and its signal
 * tells it that a call took too long.
 */
function contextFor(
  { context, recordLoss }: CustomParts,
  custom: CustomCalls,
  name: () => string,
): StrategyContext {
  return {
    ...context,
    get signal() {
      return custom.limit.signal;
    },
    recordIntent: async (ref, places) =>
      await context.recordIntent(await custom.refInMaking(ref), [...places].map(plainPlace)),
    recordLoss: async (ref, why) => await recordLoss(ref, String(why), name()),
  };
}

function plainPlace({ kind, location }: IntendedPlace): IntendedPlace {
  return { kind: String(kind), location: String(location) };
}
