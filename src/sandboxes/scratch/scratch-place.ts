import { baseName, parentPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { Folder } from "../../system/calls/folder.ts";
import { factsOfPath } from "../../system/data/locations.ts";
import { readWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";

/**
 * Where the scratch of a plan is: `scratch/` in the plan's folder. Some file systems can't hold the upper
 * layer of an overlay, for example the root of a container, which is an overlay itself. If the state
 * directory is on one of these, layers are in a private folder elsewhere, on a volume or in memory:
 *
 *   scratch-at   in the plan's folder: the path of that folder; durable before the folder is made
 *
 * The record goes after the folder. The folder may go before it, with a restart of the machine. Both are made
 * by new-scratch.ts.
 */
export const SCRATCH = "scratch";
export const RECORD = "scratch-at";

const POINTS = { remove: failpoint("runs.remove-scratch") };

/** The folders with layers of the plan. */
export function scratchFolders(plan: Folder): readonly Folder[] {
  const known = placeElsewhere(plan);
  return [plan.openBelowIfThere(SCRATCH), known === undefined ? undefined : openElsewhere(known)].filter(
    (folder) => folder !== undefined,
  );
}

/** The path of the plan's folder elsewhere, if it has, or had, one. */
export function placeElsewhere(plan: Folder): string | undefined {
  const bytes = plan.facts(RECORD) === undefined ? undefined : readWhole(plan, RECORD);
  return bytes === undefined ? undefined : pathFromBytes(bytes);
}

/** The path of the plan's folder elsewhere, if that is gone, with everything that commands wrote there. */
export function lostScratch(plan: Folder): string | undefined {
  const known = placeElsewhere(plan);
  if (known === undefined) return undefined;
  using folder = openElsewhere(known);
  return folder === undefined ? known : undefined;
}

/** Removes the plan's folder elsewhere, if it has one. */
export function removeElsewhere(plan: Folder): void {
  const known = placeElsewhere(plan);
  if (known === undefined) return;
  using folder = openElsewhere(known);
  if (folder === undefined) return;
  using parent = Folder.open(parentPath(known));
  removeTree(POINTS.remove, parent, baseName(known));
}

/** Another user can make a folder with this name after a restart. That one is not opened. */
export function openElsewhere(path: string): Folder | undefined {
  const facts = factsOfPath(path);
  if (facts?.kind !== "directory" || facts.uid !== process.geteuid?.()) return undefined;
  return Folder.open(path);
}
