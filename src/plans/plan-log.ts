import type { HistoryEntry, Store } from "../store/store.ts";
import { findPlan } from "./find-plan.ts";
import type { PlanLog } from "./plan-views.ts";

/** Everything that happened to a plan, the oldest first; also of one that is over. */
export async function planLog(store: Store, key: string | undefined): Promise<PlanLog> {
  const { id, name, state } = await findPlan(store, key);
  const entries = (await store.history(id)).map(({ planId: _, ...entry }) => entry);
  return { planId: id, name, state, entries };
}

/** A diff was shown with a digest, which an apply can be bound to. */
const SEALED = "sealed";

/** Notes that somebody was shown exactly this, unless it is what was shown last. */
export async function noteSealed({ store, history }: LogParts, planId: string, digest: string): Promise<void> {
  const last = (await store.history(planId)).findLast(({ event }) => event === SEALED);
  if (last?.details["digest"] === digest) return;
  await store.write([{ put: "history", record: history(planId, SEALED, { digest }) }], "ordered");
}

interface LogParts {
  readonly store: Store;
  readonly history: (planId: string, event: string, details: HistoryEntry["details"]) => HistoryEntry;
}
