import type { PlanSecrets } from "../sandboxes/plan-secrets.ts";
import type { Store } from "../store/store.ts";

const OVER: readonly string[] = ["applied", "undone", "cancelled"];

/** Removes the passwords of a plan once it is over and nothing of it is left that they would be needed for. */
export async function forgetSecrets(store: Store, secrets: PlanSecrets, planId: string): Promise<void> {
  const plan = await store.plan(planId);
  if (plan !== undefined && !OVER.includes(plan.state)) return;
  const sandboxes = await store.sandboxesOf(planId);
  if (sandboxes.every(({ state }) => state === "CLEANED_UP")) secrets.forget(planId);
}

/** The same for all plans, for what a crash left. Costs nothing where there is nothing. */
export async function sweepSecrets(store: Store, secrets: PlanSecrets): Promise<void> {
  for (const planId of secrets.plans()) await forgetSecrets(store, secrets, planId);
}
