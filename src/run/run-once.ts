import type { ApplyResult, CreatePlanOptions, PlanDiff } from "../plans/plan-views.ts";
import type { Plans } from "../plans/plans.ts";
import type { ExecRequest, RunningCommand } from "./exec.ts";
import type { Runs } from "./runs.ts";

/** What becomes of the changes of a command. */
export type RunDecision = "apply" | "keep" | "discard";

/** A plan for one command. */
export interface RunRequest extends ExecRequest {
  readonly plan: CreatePlanOptions;
  /** Asked when the command has ended and changed something. */
  readonly decide: (finding: RunFinding) => Promise<RunDecision>;
}

/** What a command did. */
export interface RunFinding {
  readonly planId: string;
  readonly exitCode: number;
  readonly diff: PlanDiff;
  readonly scratch: { readonly files: number };
}

/** How a run ended: `drydock run --json` prints it. */
export interface RunOutcome {
  readonly planId: string;
  readonly exitCode: number;
  readonly outcome: "applied" | "kept" | "discarded" | "unchanged";
  /** What the command changed, unless it was nothing. */
  readonly diff?: PlanDiff;
  readonly apply?: ApplyResult;
  readonly scratch: { readonly files: number };
}

/** Makes a plan, runs a command in it, and does with its changes what is decided. A plan in which nothing changed, or nothing ran, is closed. */
export async function runOnce(plans: Plans, runs: Runs, request: RunRequest): Promise<RunOutcome> {
  const { plan: options, decide, ...command } = request;
  const { id: planId } = await plans.create({ ...options, withoutPaths: true });
  const { exitCode, scratch } = await execOrCancel(plans, runs, planId, command);
  const diff = await plans.diff(planId);
  if (diff.changes.length === 0) {
    await plans.cancel(planId);
    return { planId, exitCode, outcome: "unchanged", scratch };
  }
  const decision = await decide({ planId, exitCode, diff, scratch });
  if (decision === "keep") return { planId, exitCode, outcome: "kept", diff, scratch };
  if (decision === "discard") {
    await plans.cancel(planId);
    return { planId, exitCode, outcome: "discarded", diff, scratch };
  }
  // What was just looked at, and nothing else, lands.
  const apply = await plans.apply(planId, { digest: diff.digest });
  return { planId, exitCode, outcome: "applied", diff, apply, scratch };
}

/** Once the command is up, what it did is somebody's work: then the plan stays, whatever fails afterwards. */
async function execOrCancel(plans: Plans, runs: Runs, planId: string, command: ExecRequest) {
  let isUp = false;
  const onStart = (running: RunningCommand): void => {
    isUp = true;
    command.onStart?.(running);
  };
  try {
    // What was before the only command is the plan without any work.
    return await runs.exec(planId, { ...command, checkpoint: false, onStart });
  } catch (thrown) {
    if (!isUp) await plans.cancel(planId);
    throw thrown;
  }
}
