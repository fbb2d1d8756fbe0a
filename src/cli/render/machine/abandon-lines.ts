import type { AbandonedResource, AbandonReport } from "../../../commit/cleanup/abandonment.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { oneLine } from "../../terminal/printable.ts";

/** The outcome of abandoning a plan, and the places that may remain of it. */
export function abandonLines({ planId, planName, state, resources }: AbandonReport): readonly string[] {
  const what = state === "abandoned" ? "Abandoned" : `Nothing waits any more for the ${state}`;
  const left = resources.some((resource) => resource.left.length > 0);
  return [
    `${what} plan ${displayPath(planName)} (${planId}).`,
    ...resources.flatMap(resourceLines),
    ...(left
      ? ["'drydock cleanup scan' lists the leftovers, 'drydock cleanup purge --force' removes them."]
      : []),
  ];
}

function resourceLines({ resource, location, message, left }: AbandonedResource): readonly string[] {
  return [
    oneLine(`${displayPath(resource)} (${displayPath(location)}): ${message}`),
    ...left.map(({ kind, location: place }) => oneLine(`  may be left: ${kind} ${displayPath(place)}`)),
  ];
}
