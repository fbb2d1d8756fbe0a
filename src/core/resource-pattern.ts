import { UsageError } from "./errors/errors.ts";
import { ROOT_PATH } from "./paths/byte-path.ts";
import type { PlanRecord } from "./plan.ts";
import type { PolicyLine } from "./values/run-policy.ts";

/** A pattern for paths of one resource, or of all. */
export interface ResourcePattern {
  /** Absent: every resource. */
  readonly resource?: string;
  /** In the syntax of path-patterns.ts. */
  readonly pattern: string;
}

/**
 * Reads `[RESOURCE:]PATTERN` for a plan. Text before a colon is the resource only if the plan has one of that
 * name; otherwise it is part of the pattern.
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

/** The patterns that apply to a resource. */
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

/** The lines of a policy that apply to a resource, with their patterns. */
export function linesFor(
  plan: Pick<PlanRecord, "resources">,
  resource: string,
  lines: readonly PolicyLine[],
): readonly PolicyLine[] {
  return lines.flatMap((line) =>
    patternsFor(plan, resource, [line.value]).map((value) => ({ ...line, value })),
  );
}
