import { baseName, joinPath, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import { BROUGHT, type ShownEntries } from "../../../engine/sandbox/shown-entries.ts";
import { notThere } from "../../../engine/sandbox/writing.ts";
import { copyEntry } from "../../../engine/tree/copy-tree.ts";
import { giveMetadata } from "../../../engine/tree/metadata.ts";
import { moveEntry } from "../../../engine/tree/move-entry.ts";
import type { NamedEntry } from "../../../engine/tree/named-entry.ts";
import { removeTree } from "../../../engine/tree/remove-tree.ts";
import { assertNotTooDeep } from "../../../engine/tree/walk.ts";
import { runAtOnce } from "../../../engine/work/pace.ts";
import type { Facts } from "../../../system/calls/facts.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { readXattrs, writeXattrs } from "../../../system/calls/xattrs.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { LayerMarks } from "../layer-marks.ts";
import { asideName, type LayerFolders, type LayerWriter } from "../layer-writing.ts";
import { LayeredFolder } from "../layered-folder.ts";

const POINTS = {
  whiteout: failpoint("overlay.make-whiteout"),
  hide: failpoint("overlay.hide-entry"),
  removeAside: failpoint("overlay.remove-aside"),
  removeOwn: failpoint("overlay.remove-own"),
  link: failpoint("overlay.link-aside"),
  move: failpoint("overlay.move-own"),
  folder: failpoint("overlay.create-aside"),
  metadata: failpoint("overlay.aside-metadata"),
  place: failpoint("overlay.place-aside"),
};

/** The layers of a sandbox that is not mounted, and what is needed to change them. */
export interface OpenLayers {
  readonly upper: Folder;
  readonly lower: Folder;
  /** The workspace: entries are made here before they get their place. */
  readonly scratch: Folder;
  readonly marks: LayerMarks;
  readonly writer: LayerWriter;
}

/**
 * The entries of a sandbox that is not mounted, put together from its layers. It changes the upper layer as
 * the kernel would through a mount, in steps after each of which the sandbox is in order: an entry is first
 * made aside and then put into place by one rename; what a whiteout hides is hidden by one exchange. The base
 * of what is covered is noted first, as for a write, so that nothing else has to be looked at. A crash
 * during a rename can leave the entry at both paths, and never at none.
 */
export class LayerEntries implements ShownEntries {
  readonly #layers: OpenLayers;

  constructor(layers: OpenLayers) {
    this.#layers = layers;
  }

  at<T>(path: string, look: (folder: Folder, name: string, facts: Facts) => T): T | undefined {
    const { upper } = this.#layers;
    if (path === ROOT_PATH) return look(upper, ROOT_PATH, upper.ownFacts());
    using parent = this.#open(parentPath(path));
    const found = parent?.find(baseName(path));
    return found === undefined ? undefined : look(found.folder, baseName(path), found.facts);
  }

  names(path: string): readonly string[] | undefined {
    using folder = this.#open(path);
    if (folder === undefined) return undefined;
    const names = new Set([...(folder.upper?.names() ?? []), ...(folder.lower?.names() ?? [])]);
    return [...names].filter((name) => folder.find(name) !== undefined);
  }

  makeFolder(path: string): void {
    const { upper, lower, writer } = this.#layers;
    // The folder above a name inside it.
    writer.inFolder({ upper, lower }, joinPath(path, "inside"), () => undefined);
  }

  remove(path: string): void {
    const { upper, lower, writer } = this.#layers;
    writer.inFolder({ upper, lower }, path, (parents) => this.#hide(parents, path));
  }

  bring(path: string, from: NamedEntry): void {
    const { scratch, marks } = this.#layers;
    const aside = asideName();
    runAtOnce(copyEntry(from, { folder: scratch, name: aside }, BROUGHT));
    // It hides what the lower layer has at its path.
    if (scratch.facts(aside)?.kind === "directory")
      writeXattrs(POINTS.metadata, scratch, aside, marks.opaque, {});
    this.#place(aside, path);
  }

  rename(from: string, to: string): void {
    if (this.#isOwn(from) && !this.#isMarked(to)) this.#moveOwn(from, to);
    else {
      const aside = this.#copyAside(from);
      this.#place(aside, to);
      this.remove(from);
    }
  }

  #open(path: string): LayeredFolder | undefined {
    const { upper, lower, marks } = this.#layers;
    return LayeredFolder.openBelow(upper, lower, marks, path);
  }

  /** Whether only the upper layer has something at this path. */
  #isOwn(path: string): boolean {
    using parent = this.#open(parentPath(path));
    return parent?.upper?.facts(baseName(path)) !== undefined && !hasBelow(parent.lower, baseName(path));
  }

  /** Whether the upper layer says that the lower entry at this path is gone. */
  #isMarked(path: string): boolean {
    const { marks } = this.#layers;
    using parent = this.#open(parentPath(path));
    return marks.namesFor(baseName(path)).some((name) => parent?.upper?.facts(name) !== undefined);
  }

  #moveOwn(from: string, to: string): void {
    const { upper, lower, writer } = this.#layers;
    writer.inFolder({ upper, lower }, to, (target) => {
      using source = upper.openBelow(parentPath(from));
      moveEntry(
        POINTS.move,
        { folder: source, name: baseName(from) },
        { folder: target.upper, name: baseName(to) },
      );
    });
  }

  /** Makes the entry again in the workspace, and returns its name there. */
  #copyAside(path: string): string {
    const { scratch } = this.#layers;
    const aside = asideName();
    using parent = this.#open(parentPath(path));
    if (parent === undefined) throw notThere(path);
    this.#copy(parent, baseName(path), { folder: scratch, name: aside }, path);
    return aside;
  }

  #copy(parent: LayeredFolder, name: string, to: NamedEntry, path: string): void {
    assertNotTooDeep(path);
    const found = parent.find(name);
    if (found === undefined) return;
    if (found.facts.kind === "directory") this.#copyFolder(parent, name, to, path);
    else if (found.folder === parent.upper)
      to.folder.createHardLink(POINTS.link, to.name, found.folder, name);
    else runAtOnce(copyEntry({ folder: found.folder, name }, to, { data: "share" }));
  }

  #copyFolder(parent: LayeredFolder, name: string, to: NamedEntry, path: string): void {
    const { marks } = this.#layers;
    using source = parent.open(name);
    const shown = source?.upper ?? source?.lower;
    if (source === undefined || shown === undefined) return;
    to.folder.createFolder(POINTS.folder, to.name, 0o700);
    // It hides what the lower layer has at its new path.
    writeXattrs(POINTS.metadata, to.folder, to.name, marks.opaque, {});
    using made = to.folder.openChild(to.name);
    const names = new Set([...(source.upper?.names() ?? []), ...(source.lower?.names() ?? [])]);
    for (const inside of names)
      this.#copy(source, inside, { folder: made, name: inside }, joinPath(path, inside));
    const wanted = { facts: shown.ownFacts(), xattrs: readXattrs(shown, ROOT_PATH) };
    giveMetadata(POINTS.metadata, to, wanted, to.folder.facts(to.name) as Facts);
  }

  #place(aside: string, path: string): void {
    const { upper, lower, scratch, marks, writer } = this.#layers;
    writer.inFolder({ upper, lower }, path, ({ upper: folder, lower: below }) => {
      writer.noteBelow(path, below);
      const [marked] = marks.namesFor(baseName(path)).filter((name) => folder.facts(name) !== undefined);
      if (marked === baseName(path)) {
        scratch.exchange(POINTS.place, aside, folder, marked);
        removeTree(POINTS.removeAside, scratch, aside);
        return;
      }
      moveEntry(POINTS.place, { folder: scratch, name: aside }, { folder, name: baseName(path) });
      if (marked !== undefined) removeTree(POINTS.removeOwn, folder, marked);
    });
  }

  /** Takes an entry away: what the lower layer has is hidden, what only the upper one has is removed. */
  #hide({ upper: folder, lower: below }: LayerFolders, path: string): void {
    const { scratch, writer } = this.#layers;
    const name = baseName(path);
    if (!hasBelow(below, name)) {
      removeTree(POINTS.removeOwn, folder, name);
      return;
    }
    writer.noteBelow(path, below);
    const aside = asideName();
    scratch.createWhiteout(POINTS.whiteout, aside);
    if (folder.facts(name) === undefined) {
      scratch.move(POINTS.hide, aside, folder, name);
      return;
    }
    scratch.exchange(POINTS.hide, aside, folder, name);
    removeTree(POINTS.removeAside, scratch, aside);
  }
}

function hasBelow(lower: Folder | undefined, name: string): boolean {
  return lower?.facts(name) !== undefined;
}
