import { baseName, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { copyEntry } from "../../engine/tree/copy-tree.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { type WalkedEntry, walkBelow } from "../../engine/tree/walk.ts";
import { runAtOnce } from "../../engine/work/pace.ts";
import { isExcluded, type Scope } from "../../engine/workspace/scope.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { writeXattrs } from "../../system/calls/xattrs.ts";
import { failpoint } from "../../system/failpoints.ts";
import { keepingFolderTimes } from "./folder-times.ts";
import type { LayerMarks } from "./layer-marks.ts";
import { CopyIndex } from "./linked-names.ts";

/**
 * Folders of the original that programs have renamed.
 *
 * As root, the kernel renames such a folder without copying its contents (redirect_dir=on): the upper layer
 * has the folder at its new path with the mark `redirect`, the path in the lower layer that it shows, and a
 * whiteout at the old path. A redirect that begins with "/" is a path from the root of the lower layer;
 * another one is a name in the folder that the parent shows.
 *
 * When the programs have ended, we make every such folder complete: a folder of the sandbox's own, with
 * copies of the contents that are only in the lower layer. From then on the work is a deletion and an
 * addition, as after `mv` between file systems, and nothing else has to know of redirects. The landing finds
 * out by itself that the two are the same, and renames the original's folder (renamed-folders.ts). The order,
 * which may be repeated after a crash at any point:
 * 1. Copy the missing contents, each aside and then into its place.
 * 2. Mark the folders as opaque: from here on they hide the lower layer.
 * 3. Remove the whiteouts inside, which mean nothing any more.
 * 4. Remove the redirects.
 */
const POINTS = {
  copy: failpoint("overlay.place-moved"),
  clear: failpoint("overlay.remove-old"),
  opaque: failpoint("overlay.close-moved"),
  whiteout: failpoint("overlay.remove-moved-whiteout"),
  redirect: failpoint("overlay.remove-redirect"),
};
const ASIDE = "moved-aside";

interface Layers {
  readonly workspace: Folder;
  readonly upper: Folder;
  readonly lower: Folder;
  readonly marks: LayerMarks;
  readonly scope: Scope;
}

/** Makes every moved folder of the upper layer complete. No program may be inside. */
export function completeMovedFolders(layers: Layers): void {
  const { workspace, upper, lower, marks } = layers;
  removeTree(POINTS.clear, workspace, ASIDE);
  const { moved, inPlace, shown, whiteouts } = findMoved(layers);
  const missing = shown.flatMap((folder) => missingIn(layers, folder));
  const changed = [...missing.map(({ path }) => path), ...moved, ...whiteouts];
  const index = new CopyIndex(workspace, lower);
  keepingFolderTimes(workspace, { upper, lower }, changed, () => {
    for (const each of missing) copyMissing(layers, each, index);
    for (const path of moved)
      onFolder(upper, path, (folder) => writeXattrs(POINTS.opaque, folder, ROOT_PATH, marks.opaque, {}));
    for (const path of whiteouts)
      onFolder(upper, parentPath(path), (folder) => folder.removeFile(POINTS.whiteout, baseName(path)));
  });
  for (const path of moved) onFolder(upper, path, (folder) => marks.forgetOrigin(POINTS.redirect, folder));
  for (const path of [...moved, ...inPlace])
    onFolder(upper, path, (folder) => marks.forgetRedirect(POINTS.redirect, folder));
}

/** Whether programs have moved a folder, and the upper layer is not complete without the mount. */
export function hasMovedFolders(upper: Folder, marks: LayerMarks): boolean {
  if (!marks.canRedirect) return false;
  for (const entry of walkBelow(upper)) if (redirectOf(entry, marks) !== undefined) return true;
  return false;
}

/** A folder of the upper layer, and the folder of the lower one that it shows below its own entries. */
interface ShownFolder {
  readonly path: string;
  readonly lowerPath: string;
}

/** All paths are in an order in which a folder comes after its contents. */
interface FoundMoves {
  /** The folders with a redirect to another place. */
  readonly moved: readonly string[];
  /** The folders with a redirect to their own place: they were moved and came back. */
  readonly inPlace: readonly string[];
  /** The folders whose contents have to be completed. */
  readonly shown: readonly ShownFolder[];
  /** The whiteouts in moved folders. */
  readonly whiteouts: readonly string[];
}

/** How a folder of the upper layer stands to the lower one. */
interface LowerFolder {
  /** The path of the lower folder that it shows. */
  readonly lowerPath?: string;
  /** Whether it or a folder above it was moved. */
  readonly isMoved: boolean;
}

function findMoved({ upper, marks, scope }: Layers): FoundMoves {
  const [moved, inPlace, whiteouts]: [string[], string[], string[]] = [[], [], []];
  const shown: ShownFolder[] = [];
  const places = new Map<string, LowerFolder>([[ROOT_PATH, { lowerPath: ROOT_PATH, isMoved: false }]]);
  if (!marks.canRedirect || scope.only !== undefined) return { moved, inPlace, shown, whiteouts };
  for (const entry of walkBelow(upper)) {
    const { path, parent, name, facts } = entry;
    const above = places.get(parentPath(path)) ?? { isMoved: false };
    if (facts.kind !== "directory") {
      if (above.isMoved && marks.isMark(parent, name, facts)) whiteouts.push(path);
      continue;
    }
    const redirect = redirectOf(entry, marks);
    const place = lowerFolderOf(entry, above, redirect, marks);
    places.set(path, place);
    if (redirect !== undefined) (place.isMoved ? moved : inPlace).push(path);
    if (place.isMoved && place.lowerPath !== undefined) shown.push({ path, lowerPath: place.lowerPath });
  }
  for (const list of [moved, inPlace, shown, whiteouts]) list.reverse();
  return { moved, inPlace, shown, whiteouts };
}

function lowerFolderOf(
  { path, parent, name }: WalkedEntry,
  above: LowerFolder,
  redirect: string | undefined,
  marks: LayerMarks,
): LowerFolder {
  using folder = parent.openChild(name);
  // With a redirect, a crash has interrupted us after step 2.
  if (marks.isClosed(folder)) return { isMoved: redirect !== undefined };
  if (!marks.isCopiedUp(folder)) return { isMoved: above.isMoved };
  const lowerPath = lowerPathOf(name, above, redirect);
  const isInPlace = !above.isMoved && above.lowerPath === parentPath(path) && lowerPath === path;
  return { ...(lowerPath !== undefined && { lowerPath }), isMoved: !isInPlace };
}

function lowerPathOf(name: string, above: LowerFolder, redirect: string | undefined): string | undefined {
  if (redirect?.startsWith("/")) return redirect.slice(1);
  return above.lowerPath === undefined ? undefined : joinPath(above.lowerPath, redirect ?? name);
}

function redirectOf({ parent, name, facts }: WalkedEntry, marks: LayerMarks): string | undefined {
  return facts.kind === "directory" ? marks.redirectOf(parent, name) : undefined;
}

interface Missing {
  /** A path in the upper layer. */
  readonly path: string;
  /** The path of its content in the lower layer. */
  readonly lowerPath: string;
}

/** The contents that only the lower layer has. Resources of their own do not move with a folder. */
function missingIn({ upper, lower, scope }: Layers, { path, lowerPath }: ShownFolder): Missing[] {
  using above = upper.openBelow(path);
  using below = lower.openBelowIfThere(lowerPath);
  return (below?.names() ?? [])
    .filter((name) => !OWN_NAME.test(name) && above.facts(name) === undefined)
    .map((name) => ({ path: joinPath(path, name), lowerPath: joinPath(lowerPath, name) }))
    .filter((missing) => !isExcluded(scope, missing.lowerPath));
}

/** Copies one entry, aside first: a name that is there counts as complete. */
function copyMissing(
  { workspace, upper, lower, scope }: Layers,
  { path, lowerPath }: Missing,
  index: CopyIndex,
): void {
  using source = lower.openBelowIfThere(parentPath(lowerPath));
  if (source === undefined) return;
  const steps = copyEntry(
    { folder: source, name: baseName(lowerPath) },
    { folder: workspace, name: ASIDE },
    {
      data: "share",
      filter: (at) => !OWN_NAME.test(baseName(at)) && !isExcluded(scope, at),
      linkEarlier: (at, facts, to, name) => index.link(at, facts, to, name),
    },
    lowerPath,
  );
  runAtOnce(steps);
  // Another process may have removed it meanwhile.
  if (workspace.facts(ASIDE) === undefined) return;
  onFolder(upper, parentPath(path), (folder) => workspace.move(POINTS.copy, ASIDE, folder, baseName(path)));
}

function onFolder(root: Folder, path: string, action: (folder: Folder) => void): void {
  using folder = root.openBelow(path);
  action(folder);
}
