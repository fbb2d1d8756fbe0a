import { UsageError } from "../core/errors/errors.ts";
import { displayPath, isAtOrBelow } from "../core/paths/byte-path.ts";
import type { PlanRecord } from "../core/plan.ts";
import { changesOriginals, landingsAmong } from "../core/transaction.ts";
import type { Store } from "../store/store.ts";
import type { LandedPlan } from "./landing-views.ts";

/**
 * The plan that landed last in this folder: in a resource that contains the folder, or that the folder
 * contains. A plan that was undone or that changed nothing does not count, and an open plan counts by its
 * landed parts.
 */
export async function lastLandedIn(store: Store, folder: string): Promise<LandedPlan> {
  for await (const id of store.landedPlanIds()) {
    const plan = await store.plan(id);
    if (plan === undefined || !isHere(plan, folder)) continue;
    const landing = landingsAmong(await store.transactionsOf(id)).at(-1);
    if (landing !== undefined && !changesOriginals(landing)) continue;
    return { id, name: plan.name, landedAt: landing?.finishedAt ?? plan.createdAt };
  }
  throw new UsageError(`No plan has landed in ${displayPath(folder)}, or all were undone.`, {
    code: "UNKNOWN_PLAN",
  });
}

function isHere({ resources }: PlanRecord, folder: string): boolean {
  return resources.some(
    ({ resource: { location } }) =>
      location.startsWith("/") && (isAtOrBelow(folder, location) || isAtOrBelow(location, folder)),
  );
}
