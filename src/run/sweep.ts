import { messageOf } from "../core/errors/errors.ts";
import { boundariesOf, type PlanRecord } from "../core/plan.ts";
import type { PlanSession } from "../sandboxes/access/plan-session.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import type { RunFolders } from "../sandboxes/remains/run-folders.ts";
import type { Uses } from "../sandboxes/remains/uses.ts";
import { afterCommand } from "./write-back/around-command.ts";

export interface SweepParts {
  readonly session: PlanSession;
  readonly uses: Uses;
  readonly folders: RunFolders;
}

/** A plan that the sweep could not tidy up, and why. */
export interface SweepFailure {
  readonly planId: string;
  readonly message: string;
}

/**
 * Tidies up after commands whose Drydock was killed: ends what they needed inside, and removes everything of
 * plans that have ended. Takes only plans that no living process has claimed, and checks again under the
 * claim. A failure, such as a missing strategy, stops neither the sweep nor the command that runs it; it is
 * returned.
 */
export async function sweepRuns({ session, uses, folders }: SweepParts): Promise<readonly SweepFailure[]> {
  const { sandboxes, remains } = session;
  const failures: SweepFailure[] = [];
  for (const planId of new Set([...uses.abandoned(), ...(await remains.forgettable())])) {
    try {
      await session.plans.ifFree(planId, async (plan) => {
        const isAbandoned = uses.abandoned().includes(planId);
        if (uses.living(planId).length > 0) return;
        await remains.forget(planId);
        // No command can enter a plan that is being restored, and its sandboxes must not change until the
        // restore is settled.
        if (!isAbandoned || plan?.state !== "open") return;
        failures.push(...(await leaveAll(plan, sandboxes)));
        using folder = folders.ifThere(planId);
        // What can't take its place is in the plan, as after every command.
        if (folder !== undefined) await afterCommand(folder);
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
