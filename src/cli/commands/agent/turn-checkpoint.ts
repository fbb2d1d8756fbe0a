import { isAtOrBelow } from "../../../core/paths/byte-path.ts";
import type { PlanView } from "../../../plans/plan-views.ts";
import type { Services } from "../../../services.ts";
import { realPathOf } from "../../../system/data/locations.ts";
import type { HookEvent, HookResult } from "./hook-event.ts";
import { isIn, isWorktree } from "./worktrees.ts";

const TURN = /^turn [0-9]+$/;

/** Saves the state of the plan that the agent works in, as it is after a turn. */
export async function checkpointTurn(drydock: Services, { cwd }: HookEvent): Promise<HookResult> {
  const plans = plansAt(realPathOf(cwd) ?? cwd, await drydock.plans.list());
  const [plan, ...others] = plans;
  if (plan === undefined) return { outcome: "nothing" };
  if (others.length > 0)
    return {
      outcome: "nothing",
      note: `No checkpoint: ${plans.length} open plans are about this folder (${plans.map(({ id }) => id).join(", ")}).`,
    };
  const turns = (await drydock.checkpoints.list(plan.id)).filter(({ label }) => TURN.test(label ?? ""));
  const last = Math.max(0, ...turns.map(({ label = "" }) => Number(label.slice("turn ".length))));
  const label = `turn ${last + 1}`;
  const { id } = await drydock.checkpoints.checkpoint(plan.id, { label });
  return { outcome: "checkpointed", planId: plan.id, checkpoint: id };
}

/**
 * The plans that an agent in this folder works in: the one whose sandbox it is in, else those about this
 * folder that it reaches by tools. A worktree belongs to the agent inside of it.
 */
function plansAt(folder: string, plans: readonly PlanView[]): readonly PlanView[] {
  const around = plans.filter((plan) => isIn(folder, plan));
  if (around.length > 0) return around;
  return plans.filter(
    (plan) =>
      !isWorktree(plan) &&
      plan.resources.some(({ location }) => isAtOrBelow(folder, location) || isAtOrBelow(location, folder)),
  );
}
