import type { ResolveResult, UpdateResult } from "../../plans/updates/update-views.ts";
import { placeOf } from "./plan/attention-line.ts";

/** The result of an update: a line for each path, then what to do. */
export function* updateLines(result: UpdateResult): Generator<string> {
  const { planId, merged, marked, unmerged, unsupported, checkpoint } = result;
  for (const { resource, path } of merged) yield `merged    ${placeOf(resource, path)}`;
  for (const { resource, path } of marked) yield `marked    ${placeOf(resource, path)}`;
  for (const { resource, path, why } of unmerged) yield `conflict  ${placeOf(resource, path)} (${why})`;
  for (const { resource, strategy } of unsupported)
    yield `${resource}: its strategy ${strategy} brings in nothing; a conflict shows when it lands.`;
  if (merged.length + marked.length + unmerged.length === 0)
    yield "Nobody else changed what the plan changes.";
  if (marked.length > 0) yield "Edit the marked files, or settle each with 'drydock plan resolve'.";
  if (unmerged.length > 0) yield "Settle each conflict with 'drydock plan resolve PLAN PATH'.";
  if (checkpoint !== undefined) yield `To take this back: drydock plan restore ${planId} ${checkpoint}`;
}

/** The result of settling one path. */
export function* resolveLines(result: ResolveResult): Generator<string> {
  const { planId, resource, path, how, beside, checkpoint } = result;
  const kept = {
    ours: "has the plan's version",
    theirs: "is as in the original",
    "keep-both": `is as in the original, and the plan's version is ${placeOf(resource, beside ?? path)}`,
  }[how];
  yield `${placeOf(resource, path)} ${kept}.`;
  yield `To take this back: drydock plan restore ${planId} ${checkpoint}`;
}
