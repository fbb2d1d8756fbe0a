import type { CheckpointRecord } from "../../core/checkpoint.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { HistoryEntry } from "../../store/store.ts";
import type { CheckpointView } from "../plan-views.ts";

/** The checkpoints of a plan that can be restored, oldest first. */
export async function savedCheckpoints(
  { store }: Pick<PlanSession, "store">,
  { id }: PlanRecord,
): Promise<readonly CheckpointRecord[]> {
  return (await store.checkpointsOf(id)).filter(({ state }) => state === "saved");
}

/** The checkpoint of a key: its id, its label, or a unique prefix of its id. */
export async function findCheckpoint(
  session: Pick<PlanSession, "store">,
  plan: PlanRecord,
  key: string,
): Promise<CheckpointRecord> {
  const saved = await savedCheckpoints(session, plan);
  const upper = key.toUpperCase();
  const exact = saved.find(({ id, label }) => label === key || id === upper);
  if (exact !== undefined) return exact;
  const [first, ...others] = upper === "" ? [] : saved.filter(({ id }) => id.startsWith(upper));
  if (first === undefined) throw unknown(key, plan, await session.store.history(plan.id));
  if (others.length === 0) return first;
  const list = [first, ...others].map(({ id, label }) =>
    label === undefined ? id : `${id} (${displayPath(label)})`,
  );
  throw new UsageError(`There are ${list.length} checkpoints that this could be: ${list.join(", ")}.`, {
    hint: "Use more of the id.",
    code: "AMBIGUOUS_CHECKPOINT",
  });
}

export function checkpointView({ id, label, createdAt, before, parts }: CheckpointRecord): CheckpointView {
  return {
    id,
    ...(label !== undefined && { label }),
    createdAt,
    automatic: before !== undefined,
    ...(before !== undefined && { before }),
    bytes: parts.reduce((sum, { bytes }) => sum + (bytes ?? 0), 0),
  };
}

/** The history knows dropped ones. */
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
