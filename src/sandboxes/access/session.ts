import type { Store } from "../../store/store.ts";
import type { PlanAccess } from "./plan-access.ts";
import type { PlanHistory } from "./plan-history.ts";

/** The tools of every service while a state directory is open. */
export interface Session {
  readonly stateDir: string;
  readonly store: Store;
  /** Finds plans and claims them. */
  readonly plans: PlanAccess;
  readonly history: PlanHistory;
  readonly now: () => Date;
  /** Aborted when the user interrupts. */
  readonly signal: AbortSignal;
}
