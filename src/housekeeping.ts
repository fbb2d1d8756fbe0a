import type { RecoveredPlan, Recovery, RecoveryReport } from "./commit/recovery.ts";
import type { UndoRetention } from "./commit/undo-retention.ts";
import { type SweepParts, sweepRuns } from "./run/sweep.ts";

export interface HousekeepingParts extends SweepParts {
  readonly recovery: Recovery;
  readonly undoRetention: UndoRetention;
}

/**
 * What every start does before anything else, each step cheap where there is nothing to do:
 *
 * 1. recovery: ends commits, undos, restores and plans that dead processes left unfinished;
 * 2. the sweep: removes what dead commands left, and the folders and passwords of plans that are over;
 * 3. undo retention: discards undo records that are too old.
 *
 * A step that can't finish something says so in a line, and the next start tries again.
 */
export async function keepHouse(parts: HousekeepingParts, notice: (line: string) => void): Promise<RecoveryReport> {
  const report = await parts.recovery.run();
  const steps: readonly (() => Promise<readonly string[]>)[] = [
    async () => recoveryLines(report),
    async () => (await sweepRuns(parts)).map((why) => `pending: ${why}`),
    async () => (await parts.undoRetention.run()).map(({ planId, why }) => `pending: plan ${planId}: ${why}`),
  ];
  for (const step of steps) for (const line of await step()) notice(line);
  return report;
}

function recoveryLines({ finished, undone, cleaned, pending }: RecoveryReport): readonly string[] {
  return [
    ...finished.map((plan) => `recovered: ${workOf(plan)} is finished`),
    ...undone.map((plan) => {
      const why = plan.direction === "restore" ? "could not be finished" : "had not been decided";
      return `recovered: ${workOf(plan)} ${why} and is taken back`;
    }),
    ...cleaned.map(({ planId, what }) => `recovered: removed ${what} (${planId})`),
    ...pending.map(({ planName, planId, why }) => `pending: plan ${planName} (${planId}): ${why}`),
  ];
}

function workOf({ planName, planId, direction }: RecoveredPlan): string {
  return `the ${direction === "commit" ? "apply" : direction} of plan ${planName} (${planId})`;
}
