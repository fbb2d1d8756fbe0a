import { displayPath } from "../core/byte-path.ts";
import { UsageError } from "../core/errors.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { Store } from "../store/store.ts";

/** The plan that a key means: its id, a unique prefix of it, or its name; without a key the only open plan. */
export async function findPlan(store: Store, key: string | undefined): Promise<PlanRecord> {
  if (key === undefined) return onlyPlan(await store.listPlans("open"), "open plan", "Name the plan.");
  if (key.trim() === "")
    throw new UsageError("The name of the plan is empty.", {
      hint: "Give its id, a prefix of it, or its name.",
      code: "UNKNOWN_PLAN",
    });
  const found = await store.findPlans(key);
  const exact = found.filter(({ id }) => id.toLowerCase() === key.toLowerCase());
  if (exact[0] !== undefined) return exact[0];
  const named = found.filter(({ name }) => name === key);
  const openNamed = named.filter(({ state }) => state === "open");
  if (named.length > 1 && openNamed.length === 1 && openNamed[0] !== undefined) return openNamed[0];
  if (named.length > 0) return onlyPlan(named, `plan '${displayPath(key)}'`, "Several have this name; use the id.");
  return onlyPlan(found, `plan '${displayPath(key)}'`, "Use more of the id.");
}

function onlyPlan(candidates: readonly PlanRecord[], what: string, hint: string): PlanRecord {
  const [first, ...others] = candidates;
  if (first === undefined)
    throw new UsageError(`There is no ${what}.`, {
      hint: "List plans with 'drydock plan list --all', or make one with 'drydock plan create'.",
      code: "UNKNOWN_PLAN",
    });
  if (others.length === 0) return first;
  const list = candidates.map(({ id, name }) => `${id} (${name})`).join(", ");
  throw new UsageError(`There are ${candidates.length} plans that this could be: ${list}.`, {
    hint,
    code: "AMBIGUOUS_PLAN",
  });
}
