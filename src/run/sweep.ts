import { DrydockError, messageOf } from "../core/errors.ts";
import { boundariesOf, type PlanRecord } from "../core/plan.ts";
import { type Claims, planKey } from "../sandboxes/claims.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { RunFolders } from "../sandboxes/run-folders.ts";
import type { Uses } from "../sandboxes/uses.ts";
import type { Store } from "../store/store.ts";

export interface SweepParts {
  readonly folders: RunFolders;
  readonly uses: Uses;
  readonly store: Store;
  readonly claims: Claims;
  readonly sandboxes: PlanSandboxes;
}

const OVER: readonly string[] = ["applied", "undone", "cancelled"];

/**
 * Tidies up after commands whose Drydock was killed: what they needed inside goes, and of plans that are over everything. One that can't be tidied
 * up, because its strategy is missing perhaps, does not stop the others; that is returned, a line each.
 */
export async function sweepRuns({ folders, uses, store, claims, sandboxes }: SweepParts): Promise<readonly string[]> {
  const left: string[] = [];
  for (const planId of folders.plans()) {
    const plan = await store.plan(planId);
    const isOver = plan === undefined || OVER.includes(plan.state);
    // Nobody gets into a plan that is being restored, and nothing can be done to its sandboxes until that is settled.
    if (!isOver && (plan.state === "restoring" || !uses.hasRecords(planId))) continue;
    await claims.ifFree([planKey(planId)], async () => {
      if (uses.living(planId).length > 0) return;
      if (isOver) folders.remove(planId);
      else left.push(...(await leaveAll(plan, sandboxes)));
    });
  }
  return left;
}

async function leaveAll(plan: PlanRecord, sandboxes: PlanSandboxes): Promise<readonly string[]> {
  const left: string[] = [];
  for (const { resource } of boundariesOf(plan)) {
    try {
      const { record, strategy } = await sandboxes.usable(plan, resource.name, "look");
      await strategy.leave(record.ref);
    } catch (thrown) {
      if (!(thrown instanceof DrydockError)) throw thrown;
      left.push(`plan ${plan.name} (${plan.id}): ${resource.name} could not be left: ${messageOf(thrown)}`);
    }
  }
  return left;
}
