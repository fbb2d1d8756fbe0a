import { messageOf } from "../core/errors/errors.ts";
import { boundariesOf, type PlanRecord } from "../core/plan.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { Uses } from "../sandboxes/remains/uses.ts";

export interface SweepParts {
  readonly session: PlanSession;
  readonly uses: Uses;
}

/** What could not be tidied up of a plan. */
export interface SweepFailure {
  readonly planId: string;
  readonly message: string;
}

/**
 * Tidies up after commands whose Drydock was killed: what they needed inside goes, and of plans that are over
 * everything. It takes only what nobody living has claimed, and looks again once it has the claim. A plan
 * that can't be tidied up, because its strategy is missing perhaps, stops neither the others nor the command
 * that tidies up; it is returned.
 */
export async function sweepRuns({ session, uses }: SweepParts): Promise<readonly SweepFailure[]> {
  const { sandboxes, remains } = session;
  const failures: SweepFailure[] = [];
  for (const planId of new Set([...uses.abandoned(), ...(await remains.forgettable())])) {
    try {
      await session.plans.ifFree(planId, async (plan) => {
        const isAbandoned = uses.abandoned().includes(planId);
        if (uses.living(planId).length > 0) return;
        await remains.forget(planId);
        // Nobody gets into a plan that is being restored, and nothing can be done to its sandboxes until that
        // is settled.
        if (isAbandoned && plan?.state === "open") failures.push(...(await leaveAll(plan, sandboxes)));
      });
    } catch (thrown) {
      const message = `plan ${planId}: what its commands left could not be removed: ${messageOf(thrown)}`;
      failures.push({ planId, message });
    }
  }
  return failures;
}

async function leaveAll(plan: PlanRecord, sandboxes: PlanSandboxes): Promise<readonly SweepFailure[]> {
  const failures: SweepFailure[] = [];
  for (const { resource } of boundariesOf(plan)) {
    try {
      const { record, strategy } = await sandboxes.usable(plan, resource.name, "look");
      await strategy.leave(record.ref);
    } catch (thrown) {
      const message = `plan ${plan.name} (${plan.id}): ${resource.name} could not be left: ${messageOf(thrown)}`;
      failures.push({ planId: plan.id, message });
    }
  }
  return failures;
}
