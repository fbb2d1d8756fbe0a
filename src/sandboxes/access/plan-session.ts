import type { Settings } from "../../config/settings.ts";
import type { PolicyLine } from "../../core/values/run-policy.ts";
import type { PlanSandboxes } from "../plan-sandboxes.ts";
import type { PlanRemains } from "../remains/plan-remains.ts";
import type { Session } from "./session.ts";

/** A session for services that work on plans. */
export interface PlanSession extends Session {
  readonly settings: Settings["sandbox"];
  /** The paths that policies protect: `[RESOURCE:]PATTERN` each. */
  readonly protects: () => Promise<readonly PolicyLine[]>;
  readonly sandboxes: PlanSandboxes;
  readonly remains: PlanRemains;
}
