import { UnsupportedError } from "../core/errors.ts";
import { boundariesOf, type PlanRecord, type PlanResource } from "../core/plan.ts";
import type { SandboxRef } from "../core/sandbox.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { GuardedStrategy } from "../strategies/custom/guarded-strategy.ts";

/**
 * Makes the sandboxes of a new plan, one after the other; but a transaction on a server, which is mostly waiting for a process and for the server, comes
 * about while the others are made. After a failure nothing more is begun, and what was under way is made to its end, so that the caller can remove it.
 */
export async function makeSandboxes(
  sandboxes: PlanSandboxes,
  plan: PlanRecord,
  { withPaths }: { readonly withPaths: boolean },
): Promise<void> {
  const [held, others]: [PlanResource[], PlanResource[]] = [[], []];
  for (const resource of boundariesOf(plan)) {
    const { heldTransaction } = await sandboxes.capabilities(resource.strategy);
    (heldTransaction ? held : others).push(resource);
  }
  let hasFailed = false;
  const make = async (resources: readonly PlanResource[]) => {
    for (const resource of resources) {
      if (hasFailed) return;
      const { ref } = await sandboxes.getOrCreate(plan, resource);
      if (withPaths) await pathIfAny(sandboxes.strategy(ref.strategyName), ref);
    }
  };
  const failing = (thrown: unknown) => {
    hasFailed = true;
    throw thrown;
  };
  const ends = await Promise.allSettled([held, others].map((resources) => make(resources).catch(failing)));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Has a strategy make what programs need to find a sandbox, where it can. */
async function pathIfAny(strategy: GuardedStrategy, ref: SandboxRef): Promise<void> {
  try {
    await strategy.path(ref);
  } catch (thrown) {
    if (!(thrown instanceof UnsupportedError) || thrown.code !== "NO_PATH") throw thrown;
  }
}
