import { baseName, joinPath, parentPath } from "../core/byte-path.ts";
import { failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";
import { readLayerMarks, writeXattrs, type Xattrs } from "../system/xattrs.ts";

/**
 * The traces that an overlay leaves on the entries of its upper layer (attributes such as `trusted.overlay.origin`). None may reach the original, and without
 * them the layer would mean something else; so what is taken out of the layer is freed of them, and given them again if it goes back.
 */
const POINTS = { free: failpoint("stage.free-of-marks"), mark: failpoint("stage.mark-again") };

export interface MarkedPath {
  /** From the root of the sandbox. */
  readonly path: string;
  readonly marks: Xattrs;
}

/** All marks on these entries and below them. */
export function findMarks(sandbox: Folder, paths: readonly string[]): MarkedPath[] {
  const found: MarkedPath[] = [];
  for (const path of paths) {
    using parent = sandbox.openBelow(parentPath(path));
    visit(parent, baseName(path), path, (_, __, at, marks) => found.push({ path: at, marks }));
  }
  return found;
}

/** Removes them from an entry and from all below it. */
export function freeOfMarks(parent: Folder, name: string): void {
  visit(parent, name, name, (folder, at, _, marks) => writeXattrs(POINTS.free, folder, at, {}, marks));
}

/** Puts them on again. */
export function markAgain(sandbox: Folder, marked: readonly MarkedPath[]): void {
  for (const { path, marks } of marked) {
    using parent = sandbox.openBelowIfThere(parentPath(path));
    if (parent?.facts(baseName(path)) !== undefined)
      writeXattrs(POINTS.mark, parent, baseName(path), marks, readLayerMarks(parent, baseName(path)));
  }
}

function visit(
  parent: Folder,
  name: string,
  path: string,
  found: (parent: Folder, name: string, path: string, marks: Xattrs) => void,
): void {
  const facts = parent.facts(name);
  if (facts === undefined) return;
  const marks = readLayerMarks(parent, name);
  if (Object.keys(marks).length > 0) found(parent, name, path, marks);
  if (facts.kind !== "directory") return;
  using folder = parent.openChild(name);
  for (const child of folder.names()) visit(folder, child, joinPath(path, child), found);
}
