import { baseName, joinPath, nearest, parentPath } from "../../../core/paths/byte-path.ts";
import { baseFacts, entryFacts } from "../../../engine/base/base-facts.ts";
import type { OriginalEntry } from "../../../engine/base/original-entry.ts";
import { readEntry } from "../../../engine/tree/open-parent.ts";
import { removeTree } from "../../../engine/tree/remove-tree.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Layers } from "../base-record.ts";
import { keepingFolderTimes } from "../folder-times.ts";

/**
 * The upper layer after an update has brought in what another writer changed in the lower one. The record
 * then has the lower entries of these paths as they are now, with their change times: one that changes once
 * more is a conflict again.
 */
const POINTS = {
  forget: failpoint("merge.forget-origin"),
  uncover: failpoint("merge.uncover"),
};

/** Makes these entries of the lower layer the base of those that cover them. A folder then shows both. */
export function adoptInLayer(entries: readonly OriginalEntry[], layers: Layers): void {
  const { upper, workspace, record, marks } = layers;
  for (const { path, there } of entries) {
    if (there !== undefined) {
      record.set(path, entryFacts({ original: there.facts, ...there }));
      if (there.facts.kind === "directory") {
        using folder = upper.openBelow(path);
        marks.showLower(POINTS.forget, folder);
      }
      continue;
    }
    // A copy that still names an original would count as one whose original another writer has deleted.
    record.forget((noted) => noted === path);
    using parent = upper.openBelowIfThere(parentPath(path));
    if (parent?.facts(baseName(path)) !== undefined)
      marks.forgetOriginOf(POINTS.forget, parent, baseName(path));
  }
  record.saveIfChanged(workspace, "flushed");
}

/**
 * Takes what covers these paths out of the upper layer, so that the lower one shows. It is the base of what
 * programs do there from now on.
 */
export function uncoverInLayer(paths: readonly string[], layers: Layers): void {
  const { upper, lower, workspace, record, marks } = layers;
  const names = paths.flatMap((path) =>
    marks.namesFor(baseName(path)).map((name) => joinPath(parentPath(path), name)),
  );
  keepingFolderTimes(workspace, { upper, lower }, names, () => {
    for (const path of names) {
      using parent = upper.openBelowIfThere(parentPath(path));
      if (parent !== undefined) removeTree(POINTS.uncover, parent, baseName(path));
    }
  });
  const gone = new Set(paths);
  record.forget((noted) => nearest(gone, noted) !== undefined);
  for (const path of paths) {
    const facts = readEntry(lower, path, baseFacts);
    if (facts !== undefined) record.set(path, facts);
  }
  record.saveIfChanged(workspace, "flushed");
}
