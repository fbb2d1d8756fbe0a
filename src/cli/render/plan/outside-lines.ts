import { displayPath, isAtOrBelow, parentPath } from "../../../core/paths/byte-path.ts";
import type { ScratchList } from "../../../plans/scratch/plan-scratch.ts";
import {
  leavesWork,
  type OutsideGroup,
  type OutsideSummary,
} from "../../../sandboxes/scratch/outside-places.ts";
import { factsOfPath } from "../../../system/data/locations.ts";
import { sizeText } from "../size-text.ts";
import { textTable } from "../text-table.ts";

/** How many places a line names. */
const MOST_PLACES = 5;

/** What a command wrote outside the plan, and where: one line, or none. */
export function* scratchLines(
  { files, places }: OutsideSummary,
  home: string | undefined,
): Generator<string> {
  if (places.length === 0) return;
  const removed = places.reduce((sum, place) => sum + place.removed, 0);
  const what = [
    ...(files > 0 ? [`wrote ${counted(files, "file", "files")}`] : []),
    ...(removed > 0 ? [`removed ${counted(removed, "entry", "entries")}`] : []),
  ];
  const named = places.slice(0, MOST_PLACES).map((place) => placeText(place, home));
  const rest = places.length - named.length;
  const where = [...named, ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
  yield `also ${what.join(" and ")} outside the plan; not landed: ${where}`;
}

/** Every file outside; caches and temporary folders as a whole, unless `all`. */
export function* scratchList(
  { files, places, lost }: ScratchList,
  { all, home }: { readonly all: boolean; readonly home: string | undefined },
): Generator<string> {
  if (lost !== undefined)
    yield `What was written outside of the plan is gone: it was in ${displayPath(lost)}.`;
  else if (files.length === 0) yield "Nothing was written outside of the plan.";
  const shown = all ? files : files.filter(({ cache }) => cache !== true);
  const folded = all ? [] : places.filter(({ cache }) => cache === true);
  yield* textTable([
    ...shown.map(({ path, kind, bytes }) => [
      shortPath(path, home),
      kind === "file" ? sizeText(bytes) : kind,
    ]),
    ...folded.map(({ path, files: count, removed, bytes }) => [
      shortPath(path, home),
      sizeText(bytes),
      `${counted(count + removed, "file", "files")} of a cache or temporary folder`,
    ]),
  ]);
}

/** What to do with a plan whose command wrote something outside of it. */
export function* waysOn(
  planId: string,
  summary: OutsideSummary,
  home: string | undefined,
): Generator<string> {
  const [first] = summary.places.filter(({ cache }) => cache !== true);
  if (first === undefined || !leavesWork(summary)) return;
  yield `  look at what is outside: drydock plan scratch diff ${planId}`;
  yield `  take it into the plan:   drydock plan add ${planId} ${shortPath(folderThere(first.path), home)}`;
}

/** A path with `~` for the home. */
export function shortPath(path: string, home: string | undefined): string {
  const isInHome = home !== undefined && home !== "/" && isAtOrBelow(path, home);
  return displayPath(isInHome ? `~${path.slice(home.length)}` : path);
}

function placeText({ path, files, removed, cache }: OutsideGroup, home: string | undefined): string {
  const count = files + removed === 1 && cache !== true ? "" : ` ${files + removed}`;
  return `${shortPath(path, home)}${count}${files === 0 ? " (removed)" : ""}`;
}

/** The nearest path that exists on the machine: a resource has to exist. */
function folderThere(path: string): string {
  let at = path;
  while (factsOfPath(at) === undefined && at !== "/") at = parentPath(at);
  return at;
}

function counted(count: number, one: string, many: string): string {
  return count === 1 ? `1 ${one}` : `${count} ${many}`;
}
