import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { CheckpointOptions, CheckpointResult, CheckpointView, RestoreResult } from "../plan-views.ts";
import { assertName } from "../resources/resources.ts";
import { checkpointView, findCheckpoint, savedCheckpoints } from "./find-checkpoint.ts";
import type { PlanCheckpoints } from "./plan-checkpoints.ts";
import type { PlanRestores } from "./plan-restores.ts";

/**
 * Checkpoints of plans: each saves all sandboxes of a plan at once, whatever their strategies. A restore
 * drops later checkpoints; a landing and a rollback end all.
 */
export class CheckpointService {
  readonly #session: PlanSession;
  readonly #checkpoints: PlanCheckpoints;
  readonly #restores: PlanRestores;

  constructor(session: PlanSession, checkpoints: PlanCheckpoints, restores: PlanRestores) {
    this.#session = session;
    this.#checkpoints = checkpoints;
    this.#restores = restores;
  }

  /**
   * Saves the state of a plan. A checkpoint with a label stays until a restore, a rollback or a landing drops
   * it.
   */
  async checkpoint(plan: string | undefined, options: CheckpointOptions = {}): Promise<CheckpointResult> {
    const { label } = options;
    if (label !== undefined) assertName(label);
    return await this.#session.plans.claimed(plan, async (found) => {
      const { record, warnings } = await this.#session.sandboxes.hold.during(found, "checkpoint", () =>
        this.#checkpoints.save(found, label === undefined ? {} : { label }),
      );
      return { planId: found.id, ...checkpointView(record), warnings };
    });
  }

  /** The checkpoints of a plan that can be restored, oldest first. */
  async list(plan: string | undefined): Promise<readonly CheckpointView[]> {
    return (await savedCheckpoints(this.#session, await this.#session.plans.find(plan))).map(checkpointView);
  }

  /**
   * Brings every sandbox of a plan back to a checkpoint, named by its id, a unique prefix of it, or its
   * label: all of them, or none.
   */
  async restore(plan: string | undefined, checkpoint: string): Promise<RestoreResult> {
    return await this.#session.plans.claimed(plan, async (found) => {
      const target = await findCheckpoint(this.#session, found, checkpoint);
      const { ended, warnings } = await this.#session.sandboxes.hold.during(found, "restore", () =>
        this.#restores.restore(found, target),
      );
      return {
        planId: found.id,
        checkpoint: checkpointView(target),
        dropped: ended.map(({ id }) => id),
        warnings,
      };
    });
  }
}
