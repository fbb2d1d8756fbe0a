import type { Settings } from "../../config/settings.ts";
import type { PlanSandboxes } from "../plan-sandboxes.ts";
import type { PlanRemains } from "../remains/plan-remains.ts";
import type { Session } from "./session.ts";

/** A session for services that work on plans. */
export interface PlanSession extends Session {
  readonly settings: Settings["sandbox"];
  readonly sandboxes: PlanSandboxes;
  readonly remains: PlanRemains;
}
