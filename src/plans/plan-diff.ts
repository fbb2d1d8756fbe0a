import { DiffCount } from "../core/change.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { LandingWords } from "../core/self-running/protected-paths.ts";
import {
  ChangesDigest,
  type ChangesOf,
  eachChangeOf,
  isWanted,
  type TakePlanChange,
} from "./plan-changes.ts";
import type { DiffOptions, PlanChange, PlanDiff, SelfRunningChange } from "./plan-views.ts";
import { RenameFinder } from "./renames/rename-finder.ts";
import { renamedEntries } from "./renames/rename-index.ts";

/**
 * The diff of a plan with these changes. `words` choose which self-running and protected files may land.
 */
export async function diffOf(
  plan: PlanRecord,
  words: LandingWords,
  options: DiffOptions,
  changesOf: ChangesOf,
): Promise<PlanDiff> {
  const [all, wanted] = [new ChangesDigest(), new DiffCount()];
  const [changes, selfRunning]: [PlanChange[], SelfRunningChange[]] = [[], []];
  const finder = new RenameFinder();
  const take = options.onChange ?? ((change: PlanChange) => changes.push(change));
  const takeOne: TakePlanChange = (change, runs) => {
    all.add(change);
    if (!isWanted(change, options.paths)) return;
    wanted.add(change);
    finder.add(change);
    if (runs !== undefined) selfRunning.push(runs);
    take(change);
  };
  await eachChangeOf(plan, words, takeOne, changesOf);
  const renames = finder.find();
  const renamed = renamedEntries(renames);
  const stats = { ...wanted.stats, ...(renamed > 0 && { renamed }) };
  return { planId: plan.id, digest: all.end(), stats, changes, renames, selfRunning };
}
