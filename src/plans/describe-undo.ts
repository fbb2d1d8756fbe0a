import type { PlanRecord } from "../core/plan.ts";
import type { Store } from "../store/store.ts";
import type { PlanView } from "./plan-views.ts";

/** Of a plan of which something has landed: until when the last landing can be undone, or why it can't. Of any other nothing. */
export async function describeUndo(store: Store, plan: PlanRecord, keepMs: number): Promise<Pick<PlanView, "undo">> {
  if (plan.state !== "applied" && plan.state !== "open") return {};
  const landed = (await store.transactionsOf(plan.id)).findLast(({ direction, phase, undoRecord }) => {
    return direction === "commit" && (phase === "done" || phase === "landed") && undoRecord !== "used";
  });
  if (landed === undefined && plan.state === "open") return {};
  const stuck = landed?.participants.find(
    ({ kind, status, isFinal }) =>
      kind === "in-place" || ((kind === "irreversible" || isFinal === true) && status === "committed"),
  );
  if (stuck !== undefined)
    return { undo: { not: `${stuck.resource} can't be taken back (${stuck.ref.strategyName})` } };
  if (landed?.finishedAt === undefined || landed.undoRecord !== undefined)
    return { undo: { not: "its undo record is no longer kept" } };
  return { undo: { until: new Date(Date.parse(landed.finishedAt) + keepMs).toISOString() } };
}
