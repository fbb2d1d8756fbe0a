import { UsageError } from "./errors/errors.ts";
import { ROOT_PATH } from "./paths/byte-path.ts";
import { boundaryOf, type PlanRecord } from "./plan.ts";
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
 * name; otherwise it is part of the pattern. The changes of a resource inside of another one are those of its
 * boundary, so its pattern is one for that.
 */
export function resourcePattern(plan: Pick<PlanRecord, "resources">, given: string): ResourcePattern {
  const named = plan.resources.find(({ resource }) => given.startsWith(`${resource.name}:`));
  const text = named === undefined ? given : given.slice(named.resource.name.length + 1);
  if (text === "" && named === undefined)
    throw new UsageError("A path is empty.", { hint: "Give one like src/app.ts, or leave the option out." });
  const pattern = text.replace(/^(?:\.\/+)+/, "").replace(/\/+$/, "") || ROOT_PATH;
  if (named === undefined) return { pattern };
  const resource = boundaryOf(plan, named).resource.name;
  if (named.within === undefined) return { resource, pattern };
  // A star in a name is written as "?".
  const folder = named.within.path.replaceAll("*", "?");
  return { resource, pattern: pattern === ROOT_PATH ? folder : `${folder}/${pattern}` };
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
