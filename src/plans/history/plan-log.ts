import type { PlanLogEntry } from "../../core/values/plan-events.ts";
import type { Session } from "../../sandboxes/access/session.ts";
import type { PlanLog } from "../plan-views.ts";

/** The history of a plan, oldest first; also of one that is over. */
export async function planLog({ plans, store }: Session, key: string | undefined): Promise<PlanLog> {
  const { id, name, state } = await plans.find(key);
  const entries = (await store.history(id)).map(({ planId: _, ...entry }) => entry as PlanLogEntry);
  return { planId: id, name, state, entries };
}

/** A diff was shown with a digest, to which an apply can be bound. */
const SEALED = "sealed";

/** Records that a diff with this digest was shown, unless it is the last one recorded. */
export async function noteSealed({ store, history }: Session, planId: string, digest: string): Promise<void> {
  const last = await store.lastEntry(planId, [SEALED]);
  if (last?.entry.details["digest"] !== digest) await history.note(planId, SEALED, { digest });
}
