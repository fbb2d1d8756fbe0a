import { UnsupportedError } from "../../core/errors/errors.ts";
import type { PlanRecord, PlanResource } from "../../core/plan.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { PlanSandboxes } from "../../sandboxes/plan-sandboxes.ts";

interface NewSandboxes {
  /** Each has a sandbox of its own. */
  readonly resources: readonly PlanResource[];
  /** Also make what programs need to find the sandboxes, such as a mount. */
  readonly withPaths: boolean;
}

/**
 * Makes sandboxes of a plan one after the other, but a transaction on a server, which mostly waits, at the
 * same time. After a failure it begins no more, and lets those under way finish, so that they can be removed.
 */
export async function makeSandboxes(
  sandboxes: PlanSandboxes,
  plan: PlanRecord,
  { resources, withPaths }: NewSandboxes,
): Promise<void> {
  const [held, others]: [PlanResource[], PlanResource[]] = [[], []];
  for (const resource of resources) {
    const { heldTransaction } = await sandboxes.capabilities(resource);
    (heldTransaction ? held : others).push(resource);
  }
  let hasFailed = false;
  const make = async (items: readonly PlanResource[]) => {
    for (const item of items) {
      if (hasFailed) return;
      const { ref } = await sandboxes.getOrCreate(plan, item);
      if (withPaths) await makePath(sandboxes, ref);
    }
  };
  const failing = (thrown: unknown) => {
    hasFailed = true;
    throw thrown;
  };
  const ends = await Promise.allSettled([held, others].map((items) => make(items).catch(failing)));
  for (const end of ends) if (end.status === "rejected") throw end.reason;
}

/** Makes what programs need to find a sandbox, if its strategy can. */
export async function makePath(sandboxes: PlanSandboxes, ref: SandboxRef): Promise<void> {
  try {
    await sandboxes.strategy(ref.strategyName).path(ref);
  } catch (thrown) {
    if (!(thrown instanceof UnsupportedError) || thrown.code !== "NO_PATH") throw thrown;
  }
}
