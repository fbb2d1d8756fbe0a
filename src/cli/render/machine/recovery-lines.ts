import type { RecoveredPlan, RecoveryReport } from "../../../commit/recovery.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { oneLine } from "../../terminal/printable.ts";
import type { Styles } from "../styles.ts";

/** The plans that recovery settled, and those that it could not. */
export function recoveryLines(report: RecoveryReport, styles: Styles): readonly string[] {
  const lines = [
    ...report.finished.map((plan) => `finished the ${workOf(plan)} of ${nameOf(plan)}`),
    ...report.undone.map((plan) => `took back the unfinished ${workOf(plan)} of ${nameOf(plan)}`),
    ...report.cleaned.map(({ planId, what }) => `removed ${oneLine(what)} of plan ${planId}`),
    ...report.pending.flatMap((plan) => pendingLines(plan, styles)),
  ];
  return lines.length === 0 ? ["There is nothing to recover."] : lines;
}

function pendingLines(plan: RecoveryReport["pending"][number], styles: Styles): readonly string[] {
  const state = plan.inDoubt ? "in doubt" : "pending";
  const line = `${styles.yellow(`${state}:`)} the ${workOf(plan)} of ${nameOf(plan)}: ${oneLine(plan.why)}`;
  if (!plan.inDoubt)
    return [
      line,
      `  if that can't be mended, 'drydock recover ${plan.planId} --abandon' ends the plan as it is`,
    ];
  return [line, `  settle it with 'drydock recover ${plan.planId} --commit' or '--abort'`];
}

function workOf({ direction }: RecoveredPlan): string {
  return direction === "commit" ? "apply" : direction;
}

function nameOf({ planName, planId }: RecoveredPlan): string {
  return `${displayPath(planName)} (${planId})`;
}
