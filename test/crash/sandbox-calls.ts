import type { SandboxRef } from "../../src/core/sandbox.ts";
import type { SandboxStrategy } from "../../src/core/strategy.ts";
import type { Services } from "../../src/services.ts";

/**
 * Calls of a strategy that no plan makes of a file strategy, but a program may: each on every sandbox of a
 * plan, one after the other.
 */
const SANDBOX_CALLS = {
  checkpoint: (strategy, ref) => strategy.checkpoint(ref, "one"),
  restore: (strategy, ref) => strategy.restoreCheckpoint(ref, "one"),
  "commit-alone": (strategy, ref) => strategy.commit(ref),
  "roll-back-alone": (strategy, ref) => strategy.rollback(ref),
} as const satisfies {
  readonly [call: string]: (strategy: SandboxStrategy, ref: SandboxRef) => Promise<unknown>;
};

export type SandboxCall = keyof typeof SANDBOX_CALLS;

/** Gives the names of the resources whose sandboxes were called. */
export async function callSandboxes(
  drydock: Services,
  plan: string,
  call: SandboxCall,
): Promise<{ readonly called: readonly string[] }> {
  const { id, resources } = await drydock.plans.show(plan);
  for (const { name } of resources) {
    const { ref } = await drydock.sandboxes.getOrCreate(id, name);
    const { strategy } = await drydock.registry.resolve(ref.strategyName, { ref });
    await SANDBOX_CALLS[call](strategy, ref);
  }
  return { called: resources.map(({ name }) => name) };
}
