import { OpenParent } from "../../../engine/tree/open-parent.ts";
import { type WalkedEntry, walkBelow } from "../../../engine/tree/walk.ts";
import { handleOf } from "../../../system/calls/file-handles.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Layers } from "../base-record.ts";

/**
 * Files that programs have moved in an overlay.
 *
 * A renamed file carries an `origin` mark that points at a lower file which a whiteout hides. Once that
 * whiteout has landed, the mark looks the same as that of a file whose lower file another writer deleted. If
 * the lower file only got other metadata, the kernel would take both for names of one file. fuse-overlayfs
 * does so with any file that is now at the path in the mark. So we remove the mark from moved files.
 */
const FORGET = failpoint("part.forget-origin");

/** Removes `origin` from moved files. */
export function forgetOrigins(layers: Layers, isLeftOut: (path: string) => boolean = () => false): void {
  for (const { path, parent, name } of movedFiles(layers))
    if (!isLeftOut(path)) layers.marks.forgetOriginOf(FORGET, parent, name);
}

/** The files of the upper layer that are copies of other files than those they cover. */
export function* movedFiles(layers: Layers): Generator<WalkedEntry> {
  using parents = new OpenParent(layers.lower);
  for (const entry of walkBelow(layers.upper))
    if (entry.facts.kind !== "directory" && isMoved(entry, parents.of(entry.path), layers)) yield entry;
}

/** Whether a file of the upper layer is a copy of another file than the one it covers in `below`. */
function isMoved(
  { path, parent, name }: WalkedEntry,
  below: Folder | undefined,
  { record, marks }: Layers,
): boolean {
  const covers = record.get(path) !== undefined;
  const from = marks.originPathOf(parent, name);
  if (from !== undefined) return from !== path;
  const origin = marks.originOf(parent, name);
  if (origin === undefined) return !covers && marks.isCopyOfUnknown(parent, name);
  const isThere = below?.facts(name) !== undefined;
  return !covers || (below !== undefined && isThere && handleOf(below, name) !== origin);
}
