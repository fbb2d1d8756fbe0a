import type { SandboxStrategyRegistry } from "./registry.ts";

/** All strategies as programs see them, strongest first, and those of a config that can't be used. */
export async function strategyViews(registry: SandboxStrategyRegistry) {
  const all = await registry.listAll();
  return {
    strategies: all.strategies.map(({ name, builtIn, capabilities, madeWith: { version } }) => ({
      name,
      builtIn,
      ...(version !== undefined && { version }),
      ...capabilities,
    })),
    unusable: all.unusable.map(({ name, error: { code, message, hint } }) => ({ name, code, message, hint })),
  };
}
