import { baseName, foldersAbove, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";

/**
 * Keeps the times of upper-layer folders while we put names into them that programs must not notice. We note
 * the times first, because a crash in between would leave new ones; the next attempt then sets the noted
 * ones.
 *
 * Format of the file `times` in the workspace: JSON, { PATH: mtime }.
 */
const POINTS = {
  note: failpoint("overlay.note-times"),
  give: failpoint("overlay.give-times"),
  forget: failpoint("overlay.forget-times"),
};
const TIMES = "times";

/** Runs an action that puts names at these paths into the upper layer. */
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
 * The times of every folder above these paths, in the upper layer, or in the lower one if it will be copied
 * up.
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
