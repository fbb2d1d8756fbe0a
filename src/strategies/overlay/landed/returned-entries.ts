import { baseName, joinPath, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import type { LandedPart } from "../../../engine/landing/landed-part.ts";
import type { InnerLink, ManifestEntry } from "../../../engine/manifest/manifest.ts";
import { Slots, slotName } from "../../../engine/manifest/slots.ts";
import { copyEntry } from "../../../engine/tree/copy-tree.ts";
import { giveMetadata } from "../../../engine/tree/metadata.ts";
import type { NamedEntry } from "../../../engine/tree/named-entry.ts";
import { removeTree } from "../../../engine/tree/remove-tree.ts";
import { runAtOnce } from "../../../engine/work/pace.ts";
import { writeXattrs } from "../../../system/calls/xattrs.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Layers } from "../base-record.ts";
import { keepingFolderTimes } from "../folder-times.ts";
import { leavesLayer } from "../landed-layer.ts";
import { type LayerFolders, LayerWriter } from "../layer-writing.ts";

/**
 * Puts what was taken back from the original into the upper layer again, as work. What landed while programs
 * were inside has left the layer (settling.ts), and nothing waits for its return; but the undo moved it into
 * the slots. It comes back as a copy, because another writer may have given it a name in the original. Names
 * of one file stay together.
 */
const POINTS = {
  clear: failpoint("landed.clear-layer"),
  hide: failpoint("landed.hide-again"),
  mark: failpoint("landed.mark-returned"),
  link: failpoint("landed.link-returned"),
  place: failpoint("landed.place-returned"),
  metadata: failpoint("landed.metadata-returned"),
};
const ASIDE = "aside-returned";

export function returnFromSlots({ landing, manifest }: LandedPart, layers: Layers): void {
  const { upper, lower, workspace, record, marks } = layers;
  const writer = new LayerWriter(marks, record, workspace);
  const returning = [...manifest.entries.entries()].filter(([, entry]) => leavesLayer(entry));
  using slots = Slots.open(landing);
  /** The paths of files with several names, by their numbers. */
  const copies = new Map<number, string>();
  const comeBack = () => {
    for (const [slot, entry] of returning) {
      const isInSlot = slots.facts(slot) !== undefined;
      writer.inFolder({ upper, lower }, entry.path, (parents) => {
        removeTree(POINTS.clear, parents.upper, baseName(entry.path));
        if (entry.operation === "delete") hide(parents, baseName(entry.path));
        else if (entry.operation === "metadata") change(entry, parents);
        else if (entry.linkTo !== undefined) link(entry.linkTo, parents, entry.path);
        else if (isInSlot) bring({ folder: slots.in(slot), name: slotName(slot) }, parents, entry.path);
      });
      for (const inner of entry.innerLinks ?? []) linkInside(joinPath(entry.path, inner.path), inner);
    }
  };
  keepingFolderTimes(
    workspace,
    { upper, lower },
    returning.map(([, { path }]) => path),
    comeBack,
  );

  /** The file itself never left the original; only its metadata is work again. */
  function change({ path, metadata }: ManifestEntry, parents: LayerFolders): void {
    const name = baseName(path);
    const facts = parents.lower?.facts(name);
    if (parents.lower === undefined || facts === undefined || metadata === undefined) return;
    bring({ folder: parents.lower, name }, parents, path);
    const wanted = { facts: { ...facts, ...metadata.after }, xattrs: metadata.after.xattrs };
    const made = parents.upper.facts(name);
    if (made !== undefined) giveMetadata(POINTS.metadata, { folder: parents.upper, name }, wanted, made);
  }

  /** A name that the landing made of a file of the original; the sandbox has that file under its own name. */
  function link(to: string, parents: LayerFolders, path: string): void {
    using own = upper.openBelowIfThere(parentPath(to));
    using other = lower.openBelowIfThere(parentPath(to));
    const isOwn = own?.facts(baseName(to))?.kind === "file";
    if (isOwn) parents.upper.createHardLink(POINTS.link, baseName(path), own, baseName(to));
    else if (other !== undefined) bring({ folder: other, name: baseName(to) }, parents, path);
  }

  function linkInside(path: string, { linkTo, folderTime }: InnerLink): void {
    using folder = upper.openBelowIfThere(parentPath(path));
    if (folder === undefined) return;
    link(linkTo, { upper: folder }, path);
    folder.setTimes(POINTS.link, ROOT_PATH, { mtime: folderTime });
  }

  function bring(from: NamedEntry, { upper: parent }: LayerFolders, path: string): void {
    const name = baseName(path);
    const facts = from.folder.facts(from.name);
    const known = facts !== undefined && facts.nlink > 1 ? copies.get(facts.ino) : undefined;
    if (known !== undefined) {
      using other = upper.openBelow(parentPath(known));
      parent.createHardLink(POINTS.link, name, other, baseName(known));
      return;
    }
    removeTree(POINTS.clear, workspace, ASIDE);
    runAtOnce(copyEntry(from, { folder: workspace, name: ASIDE }, { data: "share" }));
    if (facts?.kind === "directory") writeXattrs(POINTS.mark, workspace, ASIDE, marks.opaque, {});
    else if (facts !== undefined) copies.set(facts.ino, path);
    workspace.move(POINTS.place, ASIDE, parent, name);
  }
}

function hide({ upper, lower }: LayerFolders, name: string): void {
  if (lower?.facts(name) !== undefined) upper.createWhiteout(POINTS.hide, name);
}
