import type { PlanRecord } from "../core/plan.ts";
import { type SandboxRecord, sandboxIdFor } from "../core/sandbox.ts";
import { USABLE_STATES } from "../core/sandbox-states.ts";
import type { Store } from "../store/store.ts";
import { isThere } from "../system/existence.ts";
import { currentBootId } from "../system/process-identity.ts";
import type { PlanResourceView, PlanView } from "./plan-views.ts";

/** A plan as people and programs see it. */
export async function describePlan(store: Store, plan: PlanRecord): Promise<PlanView> {
  const { id, name, state, readOnly, createdAt, message } = plan;
  const resources = await Promise.all(plan.resources.map((item) => describeResource(store, plan, item)));
  return { id, name, state, readOnly, createdAt, ...(message !== undefined && { message }), resources };
}

async function describeResource(
  store: Store,
  plan: PlanRecord,
  { resource, strategy, why }: PlanRecord["resources"][number],
): Promise<PlanResourceView> {
  const record = await store.sandbox(sandboxIdFor(plan.id, resource.id));
  const { name, type, location } = resource;
  const path = record?.state === "CLEANED_UP" ? undefined : record?.ref.metadata["path"];
  return {
    name,
    type,
    location,
    strategy,
    why,
    status: record?.state ?? "PENDING",
    ...(record?.error !== undefined && { error: record.error }),
    ...(isRestarted(record) && { restarted: true }),
    path: typeof path === "string" && isThere(path) ? path : null,
  };
}

/** Whether work in a sandbox may be missing because the machine was restarted since it was made. */
function isRestarted(record: SandboxRecord | undefined): boolean {
  const holdsWork = record !== undefined && USABLE_STATES.includes(record.state);
  return holdsWork && record.bootId !== undefined && record.bootId !== currentBootId();
}
