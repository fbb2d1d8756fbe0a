import { UsageError } from "../core/errors.ts";
import type { PlanResource } from "../core/plan.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";

/** Work in place changes originals from the first moment, so the user's word for it is needed when a plan is made, not at apply. */
export async function assertNotInPlace(sandboxes: PlanSandboxes, resources: readonly PlanResource[]): Promise<void> {
  for (const { resource, strategy } of resources) {
    if ((await sandboxes.capabilities(strategy)).commit !== "in-place") continue;
    throw new UsageError(
      `${resource.name} would be worked on in place (${strategy}): nothing of it could be taken back.`,
      { hint: "If that is what you want, say so with --allow-irreversible.", code: "IRREVERSIBLE" },
    );
  }
}
