import type { Store } from "../../store/store.ts";
import type { Operations } from "./operations.ts";
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
  /** The calls under way, each with the signal by which it is interrupted. */
  readonly operations: Operations;
}
