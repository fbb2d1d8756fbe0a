import { boundariesOf } from "../../core/plan.ts";
import { sandboxIdFor } from "../../core/sandbox.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";
import type { IdlePlan } from "../plan-views.ts";
import { sizeOf } from "./place-size.ts";

/** Open plans whose history has no step since then, the longest unused first. */
export async function idlePlans({ store }: PlanSession, since: Date): Promise<readonly IdlePlan[]> {
  const idle: IdlePlan[] = [];
  for (const plan of await store.listPlans("open")) {
    const history = await store.history(plan.id);
    const lastUsed = history.at(-1)?.at ?? plan.createdAt;
    if (Date.parse(lastUsed) > since.getTime()) continue;
    let bytes = 0;
    for (const { resource } of boundariesOf(plan)) {
      const workspace = (await store.sandbox(sandboxIdFor(plan.id, resource.id)))?.ref.metadata["workspace"];
      if (typeof workspace === "string") bytes += sizeOf(workspace) ?? 0;
    }
    const owner = history[0]?.actor;
    idle.push({ planId: plan.id, name: plan.name, lastUsed, bytes, ...(owner !== undefined && { owner }) });
  }
  return idle.toSorted((a, b) => Date.parse(a.lastUsed) - Date.parse(b.lastUsed));
}
