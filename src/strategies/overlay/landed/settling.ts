import { baseName, joinPath, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import { removeTree } from "../../../engine/tree/remove-tree.ts";
import { walkBelow } from "../../../engine/tree/walk.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { writeXattrs } from "../../../system/calls/xattrs.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Layers } from "../base-record.ts";
import { keepingFolderTimes } from "../folder-times.ts";
import type { LayerMarks } from "../layer-marks.ts";
import { isAsItLanded, isSameEntry } from "./landed-entries.ts";
import { forgetOrigins } from "./moved-files.ts";
import { SettledLayer } from "./settled-layer.ts";

/**
 * Takes what has landed out of the upper layer, once no program is inside: the layer is then what a landing
 * leaves that finds no programs (landed-layer.ts).
 *
 * Order of writes:
 * 1. Whiteouts for what programs have removed, and marks on the folders that hide the lower layer.
 * 2. `base`: the entries that leave are noted as leaving, and nothing else as landed. From here on, one that
 *    is missing has left.
 * 3. They leave. Folders that landed show the lower layer; those that are otherwise empty leave too.
 * 4. `base`, without them.
 *
 * Each step may be repeated after a crash. What leaves is looked at again first, because a user may have
 * written to it since.
 */
const POINTS = {
  hide: failpoint("landed.hide-removed"),
  close: failpoint("landed.close-inner"),
  leave: failpoint("landed.leave"),
  show: failpoint("landed.show-lower"),
  forget: failpoint("landed.forget-origin"),
};

/** `noteCovered` notes what the layer covers, before the entries are forgotten of which it is known. */
export function settleLayer(layers: Layers, noteCovered: () => void): void {
  const { upper, lower, workspace, record, marks } = layers;
  if (record.landed.size + record.moved.size === 0) return;
  const settled = new SettledLayer(upper, record, marks);
  keepingFolderTimes(workspace, { upper, lower }, completedPaths(upper, settled), () => {
    completeLayer(upper, settled, marks);
  });
  noteCovered();
  forgetOrigins(layers, (path) => settled.dropped.has(path));
  const leaving = [...record.landed].filter(
    ([path]) => settled.dropped.has(path) || settled.merged.has(path),
  );
  record.forgetAllLanded();
  for (const [path, { own }] of leaving) record.setLanded(path, { ...(own && { own }), leaves: true });
  record.save(workspace, "flushed");
  const gone = leave(layers, settled);
  record.forget((path) => gone.has(path));
  record.forgetAllLanded();
  record.save(workspace, "flushed");
}

/** Makes a saved copy of the layer what a layer is from which all has left that has landed. */
export function settleCopy(
  layer: Folder,
  { copy, checkpoint }: { readonly copy: Folder; readonly checkpoint: Folder },
  settled: SettledLayer,
  marks: LayerMarks,
): void {
  for (const { path, facts } of walkBelow(layer)) {
    if (facts.kind !== "file" || !settled.isKnown(facts)) continue;
    using parent = copy.openBelow(parentPath(path));
    if (parent.facts(baseName(path)) !== undefined)
      marks.forgetOriginOf(POINTS.forget, parent, baseName(path));
  }
  const inside = [...settled.merged.keys()].map((path) => joinPath(path, "inside"));
  const paths = [...completedPaths(copy, settled), ...inside];
  keepingFolderTimes(checkpoint, { upper: copy, lower: copy }, paths, () => {
    completeLayer(copy, settled, marks);
    for (const path of settled.merged.keys()) {
      using folder = copy.openBelow(path);
      marks.showLower(POINTS.show, folder);
    }
  });
}

/** The paths of whiteouts, and paths in the folders that get marks. */
function completedPaths(layer: Folder, settled: SettledLayer): string[] {
  return [...settled.hidden, ...closedFolders(layer, settled).map((path) => joinPath(path, "inside"))];
}

/** The folders that hide the lower layer in a folder that is to show it. */
function closedFolders(layer: Folder, { merged }: SettledLayer): string[] {
  return [...merged.keys()].flatMap((path) => {
    using folder = layer.openBelow(path);
    const inside = folder.names().filter((name) => folder.facts(name)?.kind === "directory");
    return inside.map((name) => joinPath(path, name)).filter((inner) => !merged.has(inner));
  });
}

function completeLayer(layer: Folder, settled: SettledLayer, marks: LayerMarks): void {
  for (const path of settled.hidden) {
    using parent = layer.openBelow(parentPath(path));
    if (parent.facts(baseName(path)) === undefined) parent.createWhiteout(POINTS.hide, baseName(path));
  }
  for (const path of closedFolders(layer, settled)) {
    using folder = layer.openBelow(path);
    writeXattrs(POINTS.close, folder, ROOT_PATH, marks.opaque, {});
  }
}

/** Returns the paths that have left. */
function leave(
  { upper, lower, workspace, record, marks }: Layers,
  settled: SettledLayer,
): ReadonlySet<string> {
  const gone = new Set<string>();
  const inside = [...settled.merged.keys()].map((path) => joinPath(path, "inside"));
  keepingFolderTimes(workspace, { upper, lower }, [...settled.dropped, ...inside], () => {
    // All before one goes: that moves the change time of its other names.
    for (const path of settled.dropped) if (isStillLeaving(path)) gone.add(path);
    for (const path of gone) {
      using parent = upper.openBelowIfThere(parentPath(path));
      if (parent !== undefined) removeTree(POINTS.leave, parent, baseName(path));
    }
    for (const [path, isAsLanded] of [...settled.merged].reverse()) {
      using parent = upper.openBelow(parentPath(path));
      using folder = parent.openChild(baseName(path));
      if (!isAsLanded || folder.names().length > 0) {
        marks.showLower(POINTS.show, folder);
        continue;
      }
      parent.removeFolder(POINTS.leave, baseName(path));
      gone.add(path);
    }
  });
  return gone;

  function isStillLeaving(path: string): boolean {
    using folder = upper.openBelowIfThere(parentPath(path));
    const name = baseName(path);
    const facts = folder?.facts(name);
    const own = record.landed.get(path)?.own;
    if (folder === undefined || facts === undefined) return true;
    return own === undefined
      ? marks.isMark(folder, name, facts)
      : isSameEntry(own, facts) && isAsItLanded(own, folder, name, facts);
  }
}
