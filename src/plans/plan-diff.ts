import { DiffCount } from "../core/change.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { LandingWords } from "../core/self-running/protected-paths.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";
import { ChangesDigest, eachChange, isWanted } from "./plan-changes.ts";
import type { DiffOptions, PlanChange, PlanDiff, SelfRunningChange } from "./plan-views.ts";
import { RenameFinder } from "./renames/rename-finder.ts";
import { renamedEntries } from "./renames/rename-index.ts";

/** The changes of a plan that would land. `words` choose which self-running and protected files may. */
export async function planDiff(
  plan: PlanRecord,
  sandboxes: PlanSandboxes,
  words: LandingWords,
  options: DiffOptions,
): Promise<PlanDiff> {
  const [all, wanted] = [new ChangesDigest(), new DiffCount()];
  const [changes, selfRunning]: [PlanChange[], SelfRunningChange[]] = [[], []];
  const finder = new RenameFinder();
  const take = options.onChange ?? ((change: PlanChange) => changes.push(change));
  await eachChange(plan, sandboxes, words, (change, runs) => {
    all.add(change);
    if (!isWanted(change, options.paths)) return;
    wanted.add(change);
    finder.add(change);
    if (runs !== undefined) selfRunning.push(runs);
    take(change);
  });
  const renames = finder.find();
  const renamed = renamedEntries(renames);
  const stats = { ...wanted.stats, ...(renamed > 0 && { renamed }) };
  return { planId: plan.id, digest: all.end(), stats, changes, renames, selfRunning };
}
