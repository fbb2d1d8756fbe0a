import type { Session } from "../sandboxes/access/session.ts";
import type { PlanLog } from "./plan-views.ts";

/** Everything that happened to a plan, the oldest first; also to one that is over. */
export async function planLog({ plans, store }: Session, key: string | undefined): Promise<PlanLog> {
  const { id, name, state } = await plans.find(key);
  const entries = (await store.history(id)).map(({ planId: _, ...entry }) => entry);
  return { planId: id, name, state, entries };
}

/** A diff was shown with a digest, which an apply can be bound to. */
const SEALED = "sealed";

/** Notes that a diff with this digest was shown, unless it was the last one already. */
export async function noteSealed({ store, history }: Session, planId: string, digest: string): Promise<void> {
  const last = (await store.history(planId)).findLast(({ event }) => event === SEALED);
  if (last?.details["digest"] !== digest) await history.note(planId, SEALED, { digest });
}
