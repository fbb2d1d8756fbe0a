import { baseName, joinPath } from "../core/byte-path.ts";
import type { Facts, Time } from "../system/facts.ts";
import type { Folder } from "../system/folder.ts";
import { readXattrs } from "../system/xattrs.ts";
import type { TreeEntry } from "./change-set.ts";
import type { LandingRules } from "./landing-policy.ts";
import { OpenParent } from "./open-parent.ts";

/** How an entry that comes into the original gets into its slot. */
export type StagingWay =
  /** Taken out of the sandbox by a rename: costs nothing, whatever its size. */
  | "move"
  /** Copied, because it may not or can't leave the sandbox as it is, or shares an inode with something that stays. */
  | "copy"
  /** Made when it lands, as another name of a file that stays in the original. */
  | "link";

/** A name inside a copied folder that is made when the folder lands, as another name of a file that stays in the original. */
export interface InnerLink {
  /** Relative to the entry. */
  readonly path: string;
  readonly linkTo: string;
  readonly folderTime: Time;
}

export interface SurveyedEntry {
  readonly entry: TreeEntry;
  readonly way: StagingWay;
  readonly linkTo?: string;
  readonly innerLinks: readonly InnerLink[];
}

interface Place {
  readonly slot: number;
  readonly path: string;
  readonly folderTime: Time;
}

interface LinkPlace extends Place {
  readonly linkTo: string;
}

interface Inode {
  readonly nlink: number;
  readonly places: Place[];
}

/**
 * Looks at everything that is going to land and decides how each entry is staged, so that no inode is ever in the sandbox and in the
 * original at once, names that share an inode go on sharing one, and what the policy keeps out stays out.
 */
export class Survey {
  readonly #sandbox: Folder;
  readonly #rules: LandingRules;
  readonly #anchors: ReadonlyMap<number, string>;
  readonly #canMove: boolean;
  readonly #inodes = new Map<number, Inode>();
  readonly #mustCopy = new Set<number>();
  #asked: { readonly folder: Folder; readonly isWritable: boolean } | undefined;

  /** `canMove`: whether a rename from the sandbox to the slots works at all. */
  constructor(sandbox: Folder, rules: LandingRules, anchors: ReadonlyMap<number, string>, canMove: boolean) {
    this.#sandbox = sandbox;
    this.#rules = rules;
    this.#anchors = anchors;
    this.#canMove = canMove;
  }

  decide(entries: readonly TreeEntry[]): SurveyedEntry[] {
    using parents = new OpenParent(this.#sandbox);
    entries.forEach((entry, slot) => {
      if (entry.after !== undefined && entry.operation !== "metadata")
        this.#look(parents.need(entry.path), entry, slot);
    });
    this.#spreadCopies();
    const links = this.#linksBySlot();
    return entries.map((entry, slot) => this.#surveyed(entry, slot, links.get(slot) ?? []));
  }

  #look(parent: Folder, entry: TreeEntry, slot: number): void {
    const facts = parent.facts(baseName(entry.path));
    // Nothing can be taken out of a read-only folder, but a copy of it can be made.
    if (!this.#isWritable(parent)) this.#mustCopy.add(slot);
    if (facts !== undefined)
      this.#lookAt(parent, baseName(entry.path), entry.path, facts, slot, () => parent.ownFacts().mtime);
  }

  /** Asked once for entries that follow each other in one folder. */
  #isWritable(folder: Folder): boolean {
    if (this.#asked?.folder !== folder) this.#asked = { folder, isWritable: folder.isWritable() };
    return this.#asked.isWritable;
  }

  #lookAt(parent: Folder, name: string, path: string, facts: Facts, slot: number, folderTime: () => Time): void {
    // The attributes of what has no other name are looked at when it is out of the sandbox (staging.ts), where nobody can change them.
    const xattrs = () => (facts.nlink > 1 ? readXattrs(parent, name) : {});
    if (!this.#rules.landsAsIs(path, facts, xattrs)) this.#mustCopy.add(slot);
    if (facts.kind === "directory") {
      using folder = parent.openChild(name);
      for (const child of folder.names()) {
        const childFacts = folder.facts(child);
        if (childFacts !== undefined)
          this.#lookAt(folder, child, joinPath(path, child), childFacts, slot, () => facts.mtime);
      }
    } else if (facts.nlink > 1) {
      const inode = this.#inodes.get(facts.ino) ?? { nlink: facts.nlink, places: [] };
      inode.places.push({ slot, path, folderTime: folderTime() });
      this.#inodes.set(facts.ino, inode);
    }
  }

  /** An inode that also has a name outside of what lands may not move; and if one of its names is copied, all are. */
  #spreadCopies(): void {
    for (const inode of this.#inodes.values()) {
      if (inode.places.length < inode.nlink) for (const { slot } of inode.places) this.#mustCopy.add(slot);
    }
    for (let grew = true; grew; ) {
      grew = false;
      for (const { places } of this.#inodes.values()) {
        if (!places.some(({ slot }) => this.#mustCopy.has(slot))) continue;
        for (const { slot } of places) {
          grew ||= !this.#mustCopy.has(slot);
          this.#mustCopy.add(slot);
        }
      }
    }
  }

  /** For each slot, its names of files that stay in the original. */
  #linksBySlot(): ReadonlyMap<number, readonly LinkPlace[]> {
    const links = new Map<number, LinkPlace[]>();
    for (const [ino, { places }] of this.#inodes) {
      const linkTo = this.#anchors.get(ino);
      if (linkTo === undefined) continue;
      for (const place of places) {
        const known = links.get(place.slot);
        if (known === undefined) links.set(place.slot, [{ ...place, linkTo }]);
        else known.push({ ...place, linkTo });
      }
    }
    return links;
  }

  #surveyed(entry: TreeEntry, slot: number, links: readonly LinkPlace[]): SurveyedEntry {
    const itself = links.find(({ path }) => path === entry.path);
    if (itself !== undefined) return { entry, way: "link", linkTo: itself.linkTo, innerLinks: [] };
    const innerLinks = links.map(({ path, linkTo, folderTime }) => ({
      path: path.slice(entry.path.length + 1),
      linkTo,
      folderTime,
    }));
    return { entry, way: this.#canMove && !this.#mustCopy.has(slot) ? "move" : "copy", innerLinks };
  }
}
