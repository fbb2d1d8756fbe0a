import type { ChosenPaths } from "../../commit/commit-all.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath, foldersAbove } from "../../core/paths/byte-path.ts";
import { PathPatterns } from "../../core/paths/path-patterns.ts";
import type { PlanRecord } from "../../core/plan.ts";
import { resourcePattern } from "../../core/resource-pattern.ts";
import { nearestName } from "../../core/values/nearest-name.ts";
import type { PlanChange } from "../plan-views.ts";

const SHOWN = 3;
const COMPARED = 2000;

/**
 * The paths of a plan that land, from `[RESOURCE:]PATTERN` as users give it. A pattern without a resource's
 * name applies to all resources. A pattern that matches nothing is refused: it is probably a mistake.
 */
export function choosePaths(
  plan: PlanRecord,
  changes: readonly PlanChange[],
  only: readonly string[],
): readonly ChosenPaths[] {
  const chosen = new Map<string, string[]>();
  for (const given of only) {
    const { resource, pattern } = resourcePattern(plan, given);
    const patterns = new PathPatterns([pattern]);
    const candidates = changes.filter((change) => resource === undefined || change.resource === resource);
    const found = new Set(
      candidates.filter(({ path }) => patterns.has(path)).map((change) => change.resource),
    );
    if (found.size === 0) throw nothingMeant(given, candidates);
    for (const name of found) chosen.set(name, [...(chosen.get(name) ?? []), pattern]);
  }
  return [...chosen].map(([resource, patterns]) => ({ resource, only: patterns }));
}

/** The changes that land with these paths. A new folder lands with the first chosen path in it. */
export function chosenChanges(
  plan: PlanRecord,
  changes: readonly PlanChange[],
  only: readonly string[],
): readonly PlanChange[] {
  const choices = only.map((given) => {
    const { resource, pattern } = resourcePattern(plan, given);
    return { in: resource, patterns: new PathPatterns([pattern]) };
  });
  const isMeant = ({ resource, path }: PlanChange) =>
    choices.some((choice) => (choice.in ?? resource) === resource && choice.patterns.has(path));
  const meant = new Set(changes.filter(isMeant));
  const above = new Set(
    [...meant].flatMap(({ resource, path }) => foldersAbove(path).map((at) => key(resource, at))),
  );
  const comesAlong = ({ resource, path, operation, kind }: PlanChange) =>
    kind === "directory" && operation !== "modified" && above.has(key(resource, path));
  return changes.filter((change) => meant.has(change) || comesAlong(change));
}

function key(resource: string, path: string): string {
  return JSON.stringify([resource, path]);
}

function nothingMeant(given: string, candidates: readonly PlanChange[]): UsageError {
  return new UsageError(`Nothing that the plan changes is meant by '${displayPath(given)}'.`, {
    hint: hintFor(given, [...new Set(candidates.map(({ path }) => path))]),
    code: "NO_MATCH",
  });
}

function hintFor(given: string, paths: readonly string[]): string {
  if (paths.length === 0) return "There is nothing to land there; see the diff of the plan.";
  const near = nearestName(given, paths.slice(0, COMPARED));
  if (near !== undefined) return `Did you mean ${displayPath(near)}?`;
  const more = paths.length > SHOWN ? ` and ${paths.length - SHOWN} more; see the diff of the plan` : "";
  return `It changes ${paths.slice(0, SHOWN).map(displayPath).join(", ")}${more}.`;
}
