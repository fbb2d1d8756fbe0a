import { baseName, foldersAbove, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";

/**
 * Keeps the times of upper-layer folders while we put names into them that programs must not notice. We note
 * the times first, because a crash in between would leave new ones; the next attempt then sets the noted
 * ones.
 *
 * Without privilege, we also open up folders without write permission for that time, and note their modes.
 *
 * Format of the file `times` in the workspace: JSON, { PATH: [seconds, nanoseconds] }, with the mode as the
 * third number of a folder that is opened up.
 */
const POINTS = {
  note: failpoint("overlay.note-times"),
  openUp: failpoint("overlay.open-up"),
  give: failpoint("overlay.give-times"),
  forget: failpoint("overlay.forget-times"),
};
const TIMES = "times";
const OWNER_ALL = 0o700;

/** The time of a folder, and its mode if it is opened up. */
type Kept = readonly [seconds: number, nanoseconds: number, mode?: number];

/** Runs an action that puts names at these paths into the upper layer. */
export function keepingFolderTimes(
  workspace: Folder,
  { upper, lower }: { readonly upper: Folder; readonly lower: Folder },
  paths: readonly string[],
  action: () => void,
): void {
  const noted = readWhole(workspace, TIMES);
  const before = noted === undefined ? undefined : parsed<{ readonly [path: string]: Kept }>(noted);
  if (before === undefined && paths.length === 0) return;
  const times = { ...timesOf(upper, lower, paths), ...before };
  writeWhole(POINTS.note, workspace, TIMES, Buffer.from(JSON.stringify(times)));
  for (const [path, [, , mode]] of Object.entries(times))
    if (mode !== undefined) setMode(upper, path, mode | OWNER_ALL);
  action();
  // A folder that is closed again shuts us out of those below.
  for (const [path, kept] of Object.entries(times).reverse()) giveBack(upper, path, kept);
  workspace.removeFile(POINTS.forget, TIMES);
}

/**
 * The times of every folder above these paths, in the upper layer, or in the lower one if it will be copied
 * up.
 */
function timesOf(upper: Folder, lower: Folder, paths: readonly string[]): { [path: string]: Kept } {
  const times: { [path: string]: Kept } = {};
  for (const path of new Set(paths.flatMap(foldersAbove))) {
    using own = upper.openBelowIfThere(path);
    using other = own === undefined ? lower.openBelowIfThere(path) : undefined;
    const facts = (own ?? other)?.ownFacts();
    if (facts === undefined) continue;
    const { mode, mtime } = facts;
    times[path] = own !== undefined && isClosed(mode) ? [...mtime, mode] : mtime;
  }
  return times;
}

/** Whether the owner of a folder may not change what is in it. */
function isClosed(mode: number): boolean {
  return process.geteuid?.() !== 0 && (mode & OWNER_ALL) !== OWNER_ALL;
}

function setMode(upper: Folder, path: string, mode: number): void {
  using parent = upper.openBelowIfThere(parentPath(path));
  if (parent?.facts(baseName(path))?.kind === "directory")
    parent.setMode(POINTS.openUp, baseName(path), mode);
}

function giveBack(upper: Folder, path: string, [seconds, nanoseconds, mode]: Kept): void {
  using parent = upper.openBelowIfThere(parentPath(path));
  const name = baseName(path);
  if (parent?.facts(name)?.kind !== "directory" && path !== ROOT_PATH) return;
  parent?.setTimes(POINTS.give, name, { mtime: [seconds, nanoseconds] });
  if (mode !== undefined) parent?.setMode(POINTS.openUp, name, mode);
}
