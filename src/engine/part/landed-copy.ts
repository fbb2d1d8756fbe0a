import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { Baseline } from "../base/baseline.ts";
import type { LandedPart } from "../landing/landed-part.ts";
import type { CopiedEntry } from "../tree/copy-tree.ts";
import { contentPaths, landedEntries, metadataPaths, movedTimes } from "./landed-entries.ts";
import { entriesAt, rebased } from "./rebased-baseline.ts";

/**
 * The baseline of a copied tree after a part of it has landed. The tree itself stays; for each landed path,
 * the baseline records the original and the copy as they are now. The file `rest` in the landing's folder
 * keeps the earlier baseline entries: JSON, a list.
 */
const NOTE = failpoint("part.note-baseline");
const REST = "rest";

export function noteBaseline({ landing, manifest }: LandedPart, baseline: Baseline): void {
  if (readRest(landing) !== undefined) return;
  const contents = [...entriesAt(baseline, contentPaths(manifest.entries))];
  const others = metadataPaths(manifest.entries).flatMap((path) => {
    const index = baseline.find(path);
    return index === undefined ? [] : [baseline.entry(index, path)];
  });
  writeWhole(NOTE, landing, REST, Buffer.from(JSON.stringify([...contents, ...others])));
}

export function landedBaseline(part: LandedPart, baseline: Baseline, own: Folder): Baseline {
  const { gone, come, changed } = landedEntries(part, own);
  const withTime = movedTimes(part.manifest, "forward");
  return rebased(baseline, { gone, come, become: (entry) => withTime(changed.get(entry.path) ?? entry) });
}

/** Returns undefined if the part never became the base. */
export function returnedBaseline(
  { landing, manifest }: LandedPart,
  baseline: Baseline,
): Baseline | undefined {
  const rest = readRest(landing);
  if (rest === undefined) return undefined;
  const gone = new Set(contentPaths(manifest.entries));
  const itself = new Set(metadataPaths(manifest.entries));
  const changed = new Map(rest.filter(({ path }) => itself.has(path)).map((entry) => [entry.path, entry]));
  const come = rest.filter(({ path }) => !itself.has(path));
  const withTime = movedTimes(manifest, "backward");
  return rebased(baseline, { gone, come, become: (entry) => withTime(changed.get(entry.path) ?? entry) });
}

function readRest(landing: Folder): readonly CopiedEntry[] | undefined {
  const bytes = readWhole(landing, REST);
  return bytes === undefined ? undefined : parsed<readonly CopiedEntry[]>(bytes);
}
