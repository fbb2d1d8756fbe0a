import { type CustomStrategy, DEFAULT_CALL_LIMIT_MS } from "../config/settings.ts";
import { DrydockError, StrategyUnavailableError } from "../core/errors.ts";
import type { SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import { CustomCalls } from "./custom-calls.ts";
import type { PlanSandboxes } from "./plan-sandboxes.ts";
import type { LoadedStrategy, SandboxStrategyRegistry } from "./registry.ts";

export interface CustomParts {
  readonly registry: SandboxStrategyRegistry;
  readonly sandboxes: PlanSandboxes;
  /** What built-in strategies get. */
  readonly context: StrategyContext;
}

/** Registers a strategy that a program brings along. */
export function registerCustom(parts: CustomParts, make: (context: StrategyContext) => SandboxStrategy): void {
  const custom = new CustomCalls(DEFAULT_CALL_LIMIT_MS, parts.context.signal);
  parts.registry.register(make(contextFor(parts, custom)), custom);
}

/** Makes a strategy known that a config declares; it is loaded when somebody needs it. */
export function declareCustom(parts: CustomParts, declared: CustomStrategy): void {
  const { name, options } = declared;
  parts.registry.declare({
    name,
    ...(options !== undefined && { options }),
    load: (given) => load(parts, declared, given),
  });
}

async function load(
  parts: CustomParts,
  declared: CustomStrategy,
  options: CustomStrategy["options"],
): Promise<LoadedStrategy> {
  const custom = new CustomCalls(declared.limitMilliseconds, parts.context.signal);
  const call = { strategy: declared.name, method: "loading", patience: "until-interrupted" } as const;
  try {
    const strategy = await custom.limit.within(call, async () => {
      const { loadStrategyClass } = await import("./load-strategy.ts");
      return (await loadStrategyClass(declared, options)).make(contextFor(parts, custom));
    });
    return { strategy, custom };
  } catch (thrown) {
    if (!(thrown instanceof DrydockError) || thrown.code !== "STRATEGY_TIMEOUT") throw thrown;
    const { message, hint } = thrown;
    throw new StrategyUnavailableError(message, {
      hint,
      strategy: declared.name,
      code: "STRATEGY_MODULE",
      cause: thrown,
    });
  }
}

/** What a strategy of the user's own gets: it may record nothing but its own sandboxes, and is told when it took too long. */
function contextFor({ context, sandboxes }: CustomParts, custom: CustomCalls): StrategyContext {
  return {
    ...context,
    signal: custom.limit.signal,
    recordIntent: async (ref, places) => await context.recordIntent(custom.refInMaking(ref), intendedPlaces(places)),
    recordLoss: async (ref, why) => await sandboxes.recordLoss(ref, String(why), custom),
  };
}

function intendedPlaces(places: Parameters<StrategyContext["recordIntent"]>[1]) {
  return [...places].map(({ kind, location }) => ({ kind: String(kind), location: String(location) }));
}
