import type { PlanRecord } from "../core/plan.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { Store } from "../store/store.ts";
import type { LeftSandbox } from "./plan-views.ts";
import { throwIfFailed } from "./sweep-failure.ts";

/**
 * Removes the sandboxes of a plan that is given up. It need not wait for a strategy that is gone: what that has left is returned, and stays known
 * to the cleanup.
 */
export async function removeSandboxes(
  { store, sandboxes }: { readonly store: Store; readonly sandboxes: PlanSandboxes },
  plan: PlanRecord,
): Promise<readonly LeftSandbox[]> {
  const report = await sandboxes.cleanupAll(plan);
  throwIfFailed({ ...report, failed: report.failed.filter(({ outOfReach }) => outOfReach === undefined) });
  const intents = report.failed.length === 0 ? [] : await store.intents();
  return report.failed.map(({ resource, message, outOfReach }) => ({
    resource,
    message,
    places: intents.filter(({ sandboxId }) => sandboxId === outOfReach?.sandboxId).map(({ location }) => location),
  }));
}
