import { displayPath } from "../../../core/paths/byte-path.ts";
import type { PlanPlace } from "../../../plans/plan-views.ts";
import { sizeText } from "../size-text.ts";
import { textTable } from "../text-table.ts";

/** What a plan has in the world, a line each. */
export function placeLines(places: readonly PlanPlace[]): readonly string[] {
  if (places.length === 0) return ["", "It has nothing in the world any more."];
  const rows = places.map(({ kind, location, resource, bytes }) => [
    kind,
    displayPath(location),
    bytes === undefined ? "" : sizeText(bytes),
    resource === undefined ? "" : displayPath(resource),
  ]);
  return ["", "places", ...textTable(rows).map((line) => `  ${line}`)];
}
