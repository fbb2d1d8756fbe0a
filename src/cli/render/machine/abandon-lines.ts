import type { AbandonedResource, AbandonReport } from "../../../commit/cleanup/abandonment.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { oneLine } from "../../terminal/printable.ts";

/** What became of a plan that was ended as it was, and what may be left of it. */
export function abandonLines({ planId, planName, state, resources }: AbandonReport): readonly string[] {
  const what = state === "abandoned" ? "Abandoned" : `Nothing waits any more for the ${state}`;
  const left = resources.some((resource) => resource.left.length > 0);
  return [
    `${what} plan ${displayPath(planName)} (${planId}).`,
    ...resources.flatMap(resourceLines),
    ...(left
      ? ["'drydock cleanup scan' lists what is left, 'drydock cleanup purge --force' removes it."]
      : []),
  ];
}

function resourceLines({ resource, location, message, left }: AbandonedResource): readonly string[] {
  return [
    oneLine(`${displayPath(resource)} (${displayPath(location)}): ${message}`),
    ...left.map(({ kind, location: place }) => oneLine(`  may be left: ${kind} ${displayPath(place)}`)),
  ];
}
