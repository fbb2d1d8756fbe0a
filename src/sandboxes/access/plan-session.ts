import type { Settings } from "../../config/settings.ts";
import type { PlanRecord } from "../../core/plan.ts";
import type { AwaitedHost } from "../../core/resource/awaited-host.ts";
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
  /** The hosts for which a plan over hosts waits; absent on a machine that is alone. */
  readonly waits?: (plan: PlanRecord) => Promise<readonly AwaitedHost[]>;
}
