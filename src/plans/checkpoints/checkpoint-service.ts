import type { CheckpointRecord } from "../../core/checkpoint.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { HistoryEntry } from "../../store/store.ts";
import type { CheckpointOptions, CheckpointResult, CheckpointView, RestoreResult } from "../plan-views.ts";
import { assertName } from "../resources/resources.ts";
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
      return { planId: found.id, ...viewOf(record), warnings };
    });
  }

  /** The checkpoints of a plan that can be restored, oldest first. */
  async list(plan: string | undefined): Promise<readonly CheckpointView[]> {
    return (await this.#checkpoints.saved(await this.#session.plans.find(plan))).map(viewOf);
  }

  /**
   * Brings every sandbox of a plan back to a checkpoint, named by its id, a unique prefix of it, or its
   * label: all of them, or none.
   */
  async restore(plan: string | undefined, checkpoint: string): Promise<RestoreResult> {
    return await this.#session.plans.claimed(plan, async (found) => {
      const saved = await this.#checkpoints.saved(found);
      const target = findCheckpoint(saved, checkpoint, found, await this.#session.store.history(found.id));
      const { ended, warnings } = await this.#session.sandboxes.hold.during(found, "restore", () =>
        this.#restores.restore(found, target),
      );
      return { planId: found.id, checkpoint: viewOf(target), dropped: ended.map(({ id }) => id), warnings };
    });
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

/**
 * The checkpoint of a key: its id, its label, or a unique prefix of its id. `history` knows dropped ones.
 */
function findCheckpoint(
  saved: readonly CheckpointRecord[],
  key: string,
  plan: PlanRecord,
  history: readonly HistoryEntry[],
): CheckpointRecord {
  const upper = key.toUpperCase();
  const exact = saved.find(({ id, label }) => label === key || id === upper);
  if (exact !== undefined) return exact;
  const [first, ...others] = upper === "" ? [] : saved.filter(({ id }) => id.startsWith(upper));
  if (first === undefined) throw unknown(key, plan, history);
  if (others.length === 0) return first;
  const list = [first, ...others].map(({ id, label }) =>
    label === undefined ? id : `${id} (${displayPath(label)})`,
  );
  throw new UsageError(`There are ${list.length} checkpoints that this could be: ${list.join(", ")}.`, {
    hint: "Use more of the id.",
    code: "AMBIGUOUS_CHECKPOINT",
  });
}

function unknown(key: string, plan: PlanRecord, history: readonly HistoryEntry[]): UsageError {
  const wasThere = history.some(
    ({ event, details: { checkpoint, label } }) =>
      event === "checkpoint" &&
      (label === key || (key !== "" && String(checkpoint).startsWith(key.toUpperCase()))),
  );
  const shown = `'${displayPath(key)}'`;
  const message = wasThere
    ? `The checkpoint ${shown} of the plan ${plan.name} is no longer kept.`
    : `The plan ${plan.name} has no checkpoint ${shown}.`;
  return new UsageError(message, {
    code: "UNKNOWN_CHECKPOINT",
    ...(wasThere && {
      hint: "A restore drops later ones, a landing and a rollback end all, and of those without a label only some are kept.",
    }),
    details: { planId: plan.id },
  });
}
