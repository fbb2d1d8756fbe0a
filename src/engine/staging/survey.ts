import { baseName, joinPath } from "../../core/paths/byte-path.ts";
import type { Facts, Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import type { TreeEntry } from "../changes/change-set.ts";
import type { LandingRules } from "../checks/landing-policy.ts";
import type { InnerLink } from "../manifest/manifest.ts";
import { OpenParent } from "../tree/open-parent.ts";
import type { StagingInput } from "./staging-input.ts";

/** How an entry that comes into the original gets into its slot. */
export type StagingMethod =
  /** Renamed out of the sandbox, at no cost for any size. */
  | "move"
  /**
   * Copied, because it may not leave the sandbox unchanged, or can't, or shares an inode with an entry that
   * stays.
   */
  | "copy"
  /** Made when it lands, as another name of a file that stays in the original. */
  | "link";

/** How an entry is staged, and which of its names belong to files that stay. */
export interface StagingPlan {
  readonly method: StagingMethod;
  readonly linkTo?: string;
  readonly innerLinks?: readonly InnerLink[];
}

const MOVE: StagingPlan = { method: "move" };
const COPY: StagingPlan = { method: "copy" };

interface InodeName {
  readonly slot: number;
  readonly path: string;
  readonly folderTime: Time;
}

interface LinkName extends InodeName {
  readonly linkTo: string;
}

interface Inode {
  readonly nlink: number;
  readonly names: InodeName[];
}

/**
 * Decides how each entry is staged, so that no inode is ever in the sandbox and in the original at once,
 * names that share an inode keep sharing one, and the policy is kept. Holds only names that share an inode.
 */
export class Survey implements Disposable {
  readonly #rules: LandingRules;
  readonly #anchors: ReadonlyMap<number, string>;
  readonly #canMove: boolean;
  readonly #parents: OpenParent;
  readonly #inodes = new Map<number, Inode>();
  readonly #mustCopy = new Set<number>();
  #links: ReadonlyMap<number, readonly LinkName[]> = new Map();
  #asked: { readonly folder: Folder; readonly isWritable: boolean } | undefined;

  constructor({ sandbox, rules, changes }: SurveyInput, canMove: boolean) {
    this.#rules = rules;
    this.#anchors = changes.anchors;
    this.#canMove = canMove;
    this.#parents = new OpenParent(sandbox);
  }

  /** Notes an entry that comes into the original. Called in path order. */
  look({ path, after }: TreeEntry, slot: number): void {
    const parent = this.#parents.need(path);
    // An entry can't move out of a read-only folder, but can be copied.
    if (!this.#isWritable(parent)) this.#mustCopy.add(slot);
    // A file with one name is checked after it has left the sandbox (slot-filler.ts), where no process can
    // reach it by path.
    const facts = after?.kind === "directory" || after?.nlink !== 1 ? parent.facts(baseName(path)) : after;
    if (facts !== undefined)
      this.#lookAt({ parent, name: baseName(path), path, slot }, facts, () => parent.ownFacts().mtime);
  }

  /** Called when all entries are noted. */
  decide(): void {
    this.#spreadCopies();
    this.#links = this.#linksBySlot();
  }

  /** How an entry is staged. */
  planOf({ path }: TreeEntry, slot: number): StagingPlan {
    const plan = this.#canMove && !this.#mustCopy.has(slot) ? MOVE : COPY;
    const links = this.#links.get(slot);
    if (links === undefined) return plan;
    const itself = links.find((link) => link.path === path);
    if (itself !== undefined) return { method: "link", linkTo: itself.linkTo };
    const innerLinks = links.map((link) => ({
      path: link.path.slice(path.length + 1),
      linkTo: link.linkTo,
      folderTime: link.folderTime,
    }));
    return { ...plan, innerLinks };
  }

  /** All names of files that stay in the original. */
  links(): { readonly path: string; readonly linkTo: string }[] {
    return [...this.#links.values()].flat();
  }

  [Symbol.dispose](): void {
    this.#parents.close();
  }

  /** Remembers the answer for consecutive entries of one folder. */
  #isWritable(folder: Folder): boolean {
    if (this.#asked?.folder !== folder) this.#asked = { folder, isWritable: folder.isWritable() };
    return this.#asked.isWritable;
  }

  #lookAt(at: SurveyedEntry, facts: Facts, folderTime: () => Time): void {
    const { parent, name, path, slot } = at;
    const xattrs = () => (facts.nlink > 1 ? readXattrs(parent, name) : {});
    if (!this.#rules.landsAsIs(path, facts, xattrs)) this.#mustCopy.add(slot);
    if (facts.kind === "directory") {
      using folder = parent.openChild(name);
      for (const child of folder.names()) {
        const below = folder.facts(child);
        if (below !== undefined)
          this.#lookAt(
            { parent: folder, name: child, path: joinPath(path, child), slot },
            below,
            () => facts.mtime,
          );
      }
    } else if (facts.nlink > 1) {
      const inode = this.#inodes.get(facts.ino) ?? { nlink: facts.nlink, names: [] };
      inode.names.push({ slot, path, folderTime: folderTime() });
      this.#inodes.set(facts.ino, inode);
    }
  }

  /** An inode with a name outside of the landing may not move; and if one of its names is copied, all are. */
  #spreadCopies(): void {
    for (const inode of this.#inodes.values()) {
      if (inode.names.length < inode.nlink) for (const { slot } of inode.names) this.#mustCopy.add(slot);
    }
    for (let grew = true; grew; ) {
      grew = false;
      for (const { names } of this.#inodes.values()) {
        if (!names.some(({ slot }) => this.#mustCopy.has(slot))) continue;
        for (const { slot } of names) {
          grew ||= !this.#mustCopy.has(slot);
          this.#mustCopy.add(slot);
        }
      }
    }
  }

  /** For each slot, its names of files that stay in the original. */
  #linksBySlot(): ReadonlyMap<number, readonly LinkName[]> {
    const links = new Map<number, LinkName[]>();
    for (const [ino, { names }] of this.#inodes) {
      const linkTo = this.#anchors.get(ino);
      if (linkTo === undefined) continue;
      for (const name of names) {
        const known = links.get(name.slot);
        if (known === undefined) links.set(name.slot, [{ ...name, linkTo }]);
        else known.push({ ...name, linkTo });
      }
    }
    return links;
  }
}

/** What a survey looks at. */
type SurveyInput = Pick<StagingInput, "sandbox" | "rules" | "changes">;

interface SurveyedEntry {
  readonly parent: Folder;
  readonly name: string;
  readonly path: string;
  readonly slot: number;
}
