import { movePlan, type PlanRecord } from "../../core/plan.ts";
import { sandboxIdFor } from "../../core/sandbox.ts";
import type { PlanSession } from "../../sandboxes/access/plan-session.ts";

/**
 * Takes back that resources join a plan: after a failure, or by recovery after the process died. Their
 * sandboxes and passwords go first, then the plan is `open` without them; so a crash only delays the rest.
 * Callers hold the plan's claim.
 */
export async function takeJoinBack(session: PlanSession, plan: PlanRecord): Promise<void> {
  const { store, sandboxes, remains, history } = session;
  const { joining = [], ...rest } = plan;
  const sandboxIds = joining.map(({ resource }) => sandboxIdFor(plan.id, resource.id));
  for (const id of sandboxIds) {
    const record = await store.sandbox(id);
    if (record !== undefined && record.state !== "CLEANED_UP")
      await sandboxes.removal.remove(record, "nothing");
  }
  remains.forgetSecrets(
    plan.id,
    joining.map(({ resource }) => resource.id),
  );
  const names = joining.map(({ resource }) => resource.name);
  await store.write(
    [
      ...sandboxIds.map((sandboxId) => ({ drop: "sandbox", sandboxId }) as const),
      { put: "plan", record: { ...rest, state: movePlan(plan, "open") } },
      history.entry(plan.id, "not added", { resource: names.join(", ") }),
    ],
    "ordered",
  );
}
