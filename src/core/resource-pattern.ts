import { UsageError } from "./errors/errors.ts";
import { ROOT_PATH } from "./paths/byte-path.ts";
import type { PlanRecord } from "./plan.ts";

/** Which paths of which resource are meant. */
export interface ResourcePattern {
  /** Absent: in every resource. */
  readonly resource?: string;
  /** As of path-patterns.ts. */
  readonly pattern: string;
}

/**
 * What `[RESOURCE:]PATTERN` means in a plan. Only the name of a resource of this plan stands before a colon;
 * any other is part of the path.
 */
export function resourcePattern(
  { resources }: Pick<PlanRecord, "resources">,
  given: string,
): ResourcePattern {
  const named = resources.find(({ resource }) => given.startsWith(`${resource.name}:`))?.resource.name;
  const text = named === undefined ? given : given.slice(named.length + 1);
  if (text === "" && named === undefined)
    throw new UsageError("A path is empty.", { hint: "Give one like src/app.ts, or leave the option out." });
  const pattern = text.replace(/^(?:\.\/+)+/, "").replace(/\/+$/, "") || ROOT_PATH;
  return { ...(named !== undefined && { resource: named }), pattern };
}

/** The patterns among these that count for a resource. */
export function patternsFor(
  plan: Pick<PlanRecord, "resources">,
  resource: string,
  given: readonly string[],
): readonly string[] {
  return given
    .map((text) => resourcePattern(plan, text))
    .filter((found) => (found.resource ?? resource) === resource)
    .map(({ pattern }) => pattern);
}
