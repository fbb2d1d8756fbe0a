import { baseName, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Attention } from "../../core/strategy.ts";
import { sameIdentity } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import { type EntryIdentity, type InnerLink, isThere, type ManifestEntry } from "../manifest/manifest.ts";
import { type Slots, slotName } from "../manifest/slots.ts";
import { readEntry } from "../tree/open-parent.ts";
import type { LandingTarget } from "./landing-target.ts";
import type { LandingTouches } from "./landing-touches.ts";

const POINTS = {
  link: failpoint("land.link"),
  innerLink: failpoint("land.inner-link"),
  innerTimes: failpoint("land.inner-times"),
  dropInner: failpoint("land.drop-inner-link"),
};

/**
 * New names of files that stay in the original. We make them when they land and not before, because each
 * changes the file's inode.
 */
export class LandingLinks {
  readonly #original: Folder;
  readonly #own: LandingTouches;
  readonly #attention: Attention[];

  constructor(original: Folder, own: LandingTouches, attention: Attention[]) {
    this.#original = original;
    this.#own = own;
    this.#attention = attention;
  }

  /** Makes the entry's new names in its slot, unless it has landed already. */
  make(target: LandingTarget): void {
    const { entry, slots, slotName } = target;
    if (entry.linkTo !== undefined && slots.facts(slotName) === undefined && !this.#hasLanded(target)) {
      this.#linkFrom(entry.linkTo, slots, slotName, POINTS.link);
    }
    if (entry.innerLinks !== undefined && isThere(slots.facts(slotName), entry.after))
      this.#makeInner(target);
  }

  /** The identity of an entry after it has landed. A link has the identity of the file that it names. */
  identity(entry: ManifestEntry): EntryIdentity | undefined {
    return entry.linkTo === undefined ? entry.after : this.#original.factsBelow(entry.linkTo);
  }

  #makeInner({ entry, slots, slotName }: LandingTarget): void {
    using folder = slots.openChild(slotName);
    for (const { path, linkTo, folderTime } of entry.innerLinks ?? []) {
      using inner = folder.openBelow(parentPath(path));
      const name = baseName(path);
      if (inner.facts(name) === undefined) this.#linkFrom(linkTo, inner, name, POINTS.innerLink);
      if (inner.facts(name) === undefined) {
        this.#attention.push({
          path: joinPath(entry.path, path),
          message: `it was another name of ${linkTo}, which is gone`,
        });
      }
      inner.setTimes(POINTS.innerTimes, ROOT_PATH, { mtime: folderTime });
    }
  }

  #hasLanded({ entry, parent, name }: LandingTarget): boolean {
    return isThere(parent.facts(name), this.identity(entry));
  }

  /** Another writer may have removed the file; its new name is then left out. */
  #linkFrom(path: string, to: Folder, name: string, point: Failpoint): void {
    readEntry(this.#original, path, (parent, existing) => {
      to.createHardLink(point, name, parent, existing);
      this.#own.note(to.facts(name));
    });
  }
}

/** Removes such a name from a folder that was taken back and waits in its slot for removal. */
export function dropInnerLink(
  slots: Slots,
  slot: number,
  { path }: InnerLink,
  anchor: EntryIdentity | undefined,
): void {
  using folder = slots.in(slot).openBelowIfThere(joinPath(slotName(slot), parentPath(path)));
  const left = folder?.facts(baseName(path));
  if (folder === undefined || anchor === undefined || left === undefined || !sameIdentity(left, anchor))
    return;
  if (!folder.isWritable()) folder.setMode(POINTS.dropInner, ROOT_PATH, 0o700);
  folder.removeFile(POINTS.dropInner, baseName(path));
}
