import { SelfRunningError } from "../core/errors/errors.ts";
import { PathPatterns } from "../core/paths/path-patterns.ts";
import { type PlanRecord, resourceById } from "../core/plan.ts";
import { patternsFor } from "../core/resource-pattern.ts";
import { withoutWord } from "../core/self-running/self-running.ts";
import type { SelfRunningFile } from "../core/self-running/self-running-rules.ts";
import type { Participant } from "../core/transaction.ts";
import type { PlanSandboxes } from "../sandboxes/plan-sandboxes.ts";

/** Gives each participant the user's word on self-running files. */
export function withWord(
  plan: PlanRecord,
  participants: readonly Participant[],
  allow: readonly string[],
): readonly Participant[] {
  return participants.map((participant) => {
    const patterns = patternsFor(plan, participant.resource, allow);
    return patterns.length === 0 ? participant : { ...participant, allow: patterns };
  });
}

/**
 * Refuses self-running files that a custom strategy would land without that word. Built-in strategies check
 * by themselves in prepare, when the sandbox can't change any more; of a custom strategy only the diff is
 * known.
 */
export async function assertForeignHaveWord(
  plan: PlanRecord,
  participants: readonly Participant[],
  sandboxes: PlanSandboxes,
): Promise<void> {
  const files: SelfRunningFile[] = [];
  for (const { ref, resource, only, allow = [] } of participants) {
    if (await sandboxes.isOfBuiltIn(ref)) continue;
    const location = resourceById(plan, ref.resourceId)?.location ?? "";
    const { changes } = await sandboxes.strategy(ref.strategyName).diff(ref);
    const chosen = only === undefined ? undefined : new PathPatterns(only);
    const landing = changes.filter(({ path }) => chosen?.has(path) !== false);
    files.push(...withoutWord(location, landing, allow).map((file) => ({ ...file, resource })));
  }
  if (files.length > 0) throw new SelfRunningError(files);
}
