import type { PlanRecord } from "../../core/plan.ts";
import type { Session } from "../../sandboxes/access/session.ts";
import type { PlanCheckpoints } from "./plan-checkpoints.ts";
import type { PlanRestores } from "./plan-restores.ts";

export interface CheckpointBeforeParts {
  readonly session: Session;
  readonly checkpoints: PlanCheckpoints;
  readonly restores: PlanRestores;
}

/**
 * Saves a plan before something that may change it, and returns the way back; nothing, if one of its
 * resources has no checkpoints.
 */
export async function checkpointBefore(
  { session, checkpoints, restores }: CheckpointBeforeParts,
  plan: PlanRecord,
  before: string,
): Promise<(() => Promise<void>) | undefined> {
  if ((await checkpoints.withoutCheckpoints(plan)) !== undefined) return undefined;
  const saved = await session.plans.claimed(plan.id, (found) => checkpoints.save(found, { before }));
  return async () => {
    await session.plans.claimed(plan.id, (found) => restores.restore(found, saved.record));
  };
}
