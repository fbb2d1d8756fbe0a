import type { ClosedPlans } from "./commit/cleanup/closed-plans.ts";
import type { UndoRetention } from "./commit/cleanup/undo-retention.ts";
import type { RecoveredPlan, Recovery, RecoveryReport } from "./commit/recovery.ts";
import type { Notice } from "./core/values/notice.ts";
import { type SweepParts, sweepRuns } from "./run/sweep.ts";

export interface HousekeepingParts extends SweepParts {
  readonly recovery: Recovery;
  readonly undoRetention: UndoRetention;
  readonly closedPlans: ClosedPlans;
}

/**
 * The first work of every start. Each step is cheap when there is nothing to do:
 *
 * 1. recovery: ends commits, undos, restores and plans that dead processes left unfinished;
 * 2. the sweep: removes what dead commands left, and the folders and passwords of plans that are over;
 * 3. undo retention: discards undo records that are too old;
 * 4. closed plans: lets the records of plans go that are over for long.
 *
 * A step that can't finish reports it in a notice, and the next start tries again.
 */
export async function keepHouse(
  parts: HousekeepingParts,
  notice: (notice: Notice) => void,
): Promise<RecoveryReport> {
  const report = await parts.recovery.run();
  const steps: readonly (() => Promise<readonly Notice[]>)[] = [
    async () => recoveryNotices(report),
    async () => (await sweepRuns(parts)).map(({ planId, message }) => pending(planId, message)),
    ...[parts.undoRetention, parts.closedPlans].map(
      (retention) => async () =>
        (await retention.run()).map(({ planId, why }) => pending(planId, `plan ${planId}: ${why}`)),
    ),
  ];
  for (const step of steps) for (const each of await step()) notice(each);
  return report;
}

function recoveryNotices(report: RecoveryReport): readonly Notice[] {
  return [
    ...report.finished.map((plan) => recovered(plan.planId, `${workOf(plan)} is finished`)),
    ...report.undone.map((plan) => {
      const isSettled = plan.direction === "commit" || plan.direction === "undo";
      const why = isSettled ? "had not been decided" : "could not be finished";
      return recovered(plan.planId, `${workOf(plan)} ${why} and is taken back`);
    }),
    ...report.cleaned.map(({ planId, what }) => recovered(planId, `removed ${what} (${planId})`)),
    ...report.pending.map(({ planName, planId, why }) =>
      pending(planId, `plan ${planName} (${planId}): ${why}`),
    ),
  ];
}

function recovered(planId: string, message: string): Notice {
  return { kind: "recovered", planId, message };
}

function pending(planId: string, message: string): Notice {
  return { kind: "pending", planId, message };
}

function workOf({ planName, planId, direction }: RecoveredPlan): string {
  return `the ${direction === "commit" ? "apply" : direction} of plan ${planName} (${planId})`;
}
