import { baseName, foldersAbove, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";

/**
 * The times that folders of the upper layer have to keep while names are put into them that nobody is to
 * notice. A crash on the way would leave the time of that; so they are noted first, and given again by
 * whoever goes on.
 *
 * Format of the file `times` in the workspace: JSON, { PATH: mtime }.
 */
const POINTS = {
  note: failpoint("overlay.note-times"),
  give: failpoint("overlay.give-times"),
  forget: failpoint("overlay.forget-times"),
};
const TIMES = "times";

/** Does something that puts names at these paths into the upper layer. */
export function keepingFolderTimes(
  workspace: Folder,
  { upper, lower }: { readonly upper: Folder; readonly lower: Folder },
  paths: readonly string[],
  action: () => void,
): void {
  const noted = readWhole(workspace, TIMES);
  const before = noted === undefined ? undefined : parsed<{ readonly [path: string]: Time }>(noted);
  if (before === undefined && paths.length === 0) return;
  const times = { ...timesOf(upper, lower, paths), ...before };
  writeWhole(POINTS.note, workspace, TIMES, Buffer.from(JSON.stringify(times)));
  action();
  for (const [path, mtime] of Object.entries(times)) giveTime(upper, path, mtime);
  workspace.removeFile(POINTS.forget, TIMES);
}

/**
 * Of every folder on the way to these paths: as the upper layer has it, or as it is going to be copied up.
 */
function timesOf(upper: Folder, lower: Folder, paths: readonly string[]): { [path: string]: Time } {
  const times: { [path: string]: Time } = {};
  for (const path of new Set(paths.flatMap(foldersAbove))) {
    using folder = upper.openBelowIfThere(path) ?? lower.openBelowIfThere(path);
    if (folder !== undefined) times[path] = folder.ownFacts().mtime;
  }
  return times;
}

function giveTime(upper: Folder, path: string, mtime: Time): void {
  using parent = upper.openBelowIfThere(parentPath(path));
  const name = baseName(path);
  if (parent?.facts(name)?.kind === "directory" || path === ROOT_PATH)
    parent?.setTimes(POINTS.give, name, { mtime });
}
