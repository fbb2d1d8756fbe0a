import { displayPath } from "../core/byte-path.ts";
import type { CheckpointRecord } from "../core/checkpoint.ts";
import { UsageError } from "../core/errors.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { HistoryEntry } from "../store/store.ts";

/** The checkpoint that a key means: its id, its label, or a unique prefix of its id. The history tells which ones there were. */
export function findCheckpoint(
  kept: readonly CheckpointRecord[],
  key: string,
  plan: PlanRecord,
  history: readonly HistoryEntry[],
): CheckpointRecord {
  const upper = key.toUpperCase();
  const exact = kept.find(({ id, label }) => label === key || id === upper);
  if (exact !== undefined) return exact;
  const [first, ...others] = upper === "" ? [] : kept.filter(({ id }) => id.startsWith(upper));
  if (first === undefined) throw unknown(key, plan, history);
  if (others.length === 0) return first;
  const list = [first, ...others].map(({ id, label }) => (label === undefined ? id : `${id} (${displayPath(label)})`));
  throw new UsageError(`There are ${list.length} checkpoints that this could be: ${list.join(", ")}.`, {
    hint: "Use more of the id.",
    code: "AMBIGUOUS_CHECKPOINT",
  });
}

function unknown(key: string, plan: PlanRecord, history: readonly HistoryEntry[]): UsageError {
  const wasThere = history.some(
    ({ event, details: { checkpoint, label } }) =>
      event === "checkpoint" && (label === key || (key !== "" && String(checkpoint).startsWith(key.toUpperCase()))),
  );
  const shown = `'${displayPath(key)}'`;
  const message = wasThere
    ? `The checkpoint ${shown} of the plan ${plan.name} is no longer kept.`
    : `The plan ${plan.name} has no checkpoint ${shown}.`;
  return new UsageError(message, {
    hint: wasThere
      ? "A restore drops later ones, a landing and a rollback end all, and of those without a label only some are kept."
      : `See 'drydock plan checkpoints ${plan.id}'.`,
    code: "UNKNOWN_CHECKPOINT",
  });
}
