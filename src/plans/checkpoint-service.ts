import type { CheckpointRecord } from "../core/checkpoint.ts";
import { BusyError } from "../core/errors.ts";
import type { PlanRecord } from "../core/plan.ts";
import { type Claims, planKey } from "../sandboxes/claims.ts";
import type { Store } from "../store/store.ts";
import { findCheckpoint } from "./find-checkpoint.ts";
import { findPlan } from "./find-plan.ts";
import type { PlanCheckpoints } from "./plan-checkpoints.ts";
import type { PlanRestores } from "./plan-restores.ts";
import type { CheckpointOptions, CheckpointResult, CheckpointView, RestoreResult } from "./plan-views.ts";
import { assertName } from "./resources.ts";

export interface CheckpointServiceParts {
  readonly store: Store;
  readonly claims: Claims;
  readonly checkpoints: PlanCheckpoints;
  readonly restores: PlanRestores;
}

/**
 * Save points of plans: each is of all sandboxes of a plan at once, whatever their strategies. Restoring one drops those made after it; a
 * landing and a rollback end all.
 */
export class CheckpointService {
  readonly #parts: CheckpointServiceParts;

  constructor(parts: CheckpointServiceParts) {
    this.#parts = parts;
  }

  /** Saves the state of a plan. One with a label is kept until it is dropped by a restore, a rollback or a landing. */
  async checkpoint(plan: string | undefined, options: CheckpointOptions = {}): Promise<CheckpointResult> {
    const { label } = options;
    if (label !== undefined) assertName(label);
    return await this.#claimed(plan, async (found) => {
      const { record, warnings } = await this.#parts.checkpoints.save(found, label === undefined ? {} : { label });
      return { planId: found.id, ...viewOf(record), warnings };
    });
  }

  /** The checkpoints of a plan that can be restored, the oldest first. */
  async list(plan: string | undefined): Promise<readonly CheckpointView[]> {
    const { store, checkpoints } = this.#parts;
    return (await checkpoints.kept(await findPlan(store, plan))).map(viewOf);
  }

  /** Brings every sandbox of a plan back to a checkpoint, by its id, a unique prefix of it, or its label: all of them, or none. */
  async restore(plan: string | undefined, checkpoint: string): Promise<RestoreResult> {
    const { store, checkpoints, restores } = this.#parts;
    return await this.#claimed(plan, async (found) => {
      const target = findCheckpoint(await checkpoints.kept(found), checkpoint, found, await store.history(found.id));
      const { ended, warnings } = await restores.restore(found, target);
      return { planId: found.id, checkpoint: viewOf(target), dropped: ended.map(({ id }) => id), warnings };
    });
  }

  async #claimed<T>(plan: string | undefined, action: (plan: PlanRecord) => Promise<T>): Promise<T> {
    const { store, claims } = this.#parts;
    const { id, name } = await findPlan(store, plan);
    return await claims.holding([planKey(id)], `The plan ${name}`, async () => action(await findPlan(store, id)));
  }
}

/**
 * Saves a plan before a command runs in it, where that is possible: not where a strategy has no checkpoints, and not while somebody
 * is at work in a sandbox, whose state would be nobody's. The caller holds the plan's claim.
 */
export async function saveBefore(checkpoints: PlanCheckpoints, plan: PlanRecord, command: string): Promise<void> {
  if ((await checkpoints.withoutCheckpoints(plan)) !== undefined) return;
  try {
    await checkpoints.save(plan, { before: command });
  } catch (thrown) {
    if (!(thrown instanceof BusyError)) throw thrown;
  }
}

function viewOf({ id, label, createdAt, before, parts }: CheckpointRecord): CheckpointView {
  return {
    id,
    ...(label !== undefined && { label }),
    createdAt,
    automatic: before !== undefined,
    ...(before !== undefined && { before }),
    bytes: parts.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0),
  };
}
