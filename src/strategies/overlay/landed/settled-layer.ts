import {
  baseName,
  comparePaths,
  joinPath,
  nearest,
  parentPath,
  ROOT_PATH,
} from "../../../core/paths/byte-path.ts";
import { changedParts } from "../../../engine/tree/metadata.ts";
import { OpenParent } from "../../../engine/tree/open-parent.ts";
import { type Facts, identityKey } from "../../../system/calls/facts.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { readXattrs } from "../../../system/calls/xattrs.ts";
import type { BaseRecord } from "../base-record.ts";
import type { LayerMarks } from "../layer-marks.ts";
import { isAsItLanded, isSameEntry } from "./landed-entries.ts";
import type { LandedEntry } from "./landed-notes.ts";

/**
 * An upper layer as it would be without what has landed and is still in it (landed-entries.ts). A diff and a
 * checkpoint look at the layer through this while programs are inside; when they have ended, the layer is
 * made so (settling.ts). So all of them see the same work.
 *
 * - An entry that is as it landed counts as absent, and so does a whiteout that has landed: what other
 *   writers make of these paths shows.
 * - A folder that has landed and is still there counts as one that shows the lower layer too. All else in it
 *   that is a folder hides the lower one.
 * - What has landed and is gone was removed by the programs: it counts as a whiteout. Below such a folder
 *   they leave none, because for their mount there is nothing below.
 */
export class SettledLayer {
  readonly #upper: Folder;
  readonly #record: BaseRecord;
  readonly #marks: LayerMarks;
  readonly #dropped = new Set<string>();
  /** By path: whether also the metadata is as it landed. */
  readonly #merged = new Map<string, boolean>();
  readonly #hidden = new Map<string, string[]>();
  /** The dropped names of files with several names, which only go together: else they would be two files. */
  readonly #linked = new Map<number, { readonly nlink: number; readonly paths: readonly string[] }>();
  readonly #shows = new Map<string, boolean>();
  /** Of files that have landed, or were moved before something landed. */
  readonly #known: ReadonlySet<string>;

  constructor(upper: Folder, record: BaseRecord, marks: LayerMarks) {
    this.#upper = upper;
    this.#record = record;
    this.#marks = marks;
    const { landed } = record;
    const own = [...landed.values()].flatMap((entry) => (entry.own ? [identityKey(entry.own)] : []));
    this.#known = new Set([...own, ...record.moved]);
    using parents = new OpenParent(upper);
    const replaced = new Set<string>();
    for (const path of [...landed.keys()].toSorted(comparePaths)) {
      const parent = nearest(replaced, path) === undefined ? parents.of(path) : undefined;
      const entry = landed.get(path);
      if (parent === undefined || entry === undefined || !this.#showsLower(parentPath(path))) continue;
      if (!this.#settle(path, entry, parent)) replaced.add(path);
    }
    for (const names of this.#linked.values())
      if (names.paths.length < names.nlink) for (const path of names.paths) this.#dropped.delete(path);
  }

  /** The entries that count as absent. */
  get dropped(): ReadonlySet<string> {
    return this.#dropped;
  }

  /** The folders that count as showing the lower layer, and whether they are otherwise as they landed. */
  get merged(): ReadonlyMap<string, boolean> {
    return this.#merged;
  }

  /** The paths that count as whiteouts. */
  get hidden(): readonly string[] {
    return [...this.#hidden].flatMap(([folder, names]) => names.map((name) => joinPath(folder, name)));
  }

  /** The names in a folder that count as whiteouts. */
  hiddenIn(folder: string): readonly string[] {
    return this.#hidden.get(folder) ?? [];
  }

  /** Whether a folder of the upper layer shows the lower one too. */
  isMerged(path: string, folder: Folder): boolean {
    if (this.#merged.has(path)) return true;
    return !this.#merged.has(parentPath(path)) && !this.#marks.isOpaque(folder);
  }

  /** Whether a file is known to be work, although nothing shows any more what it is a copy of. */
  isKnown(facts: Facts): boolean {
    return this.#known.has(identityKey(facts));
  }

  /** Returns false if nothing more is to be looked at below. */
  #settle(path: string, { own, leaves }: LandedEntry, parent: Folder): boolean {
    const name = baseName(path);
    const now = parent.facts(name);
    const isMark = now !== undefined && this.#marks.isMark(parent, name, now);
    if (own === undefined) {
      if (isMark) this.#dropped.add(path);
      return false;
    }
    if (now === undefined && leaves !== true) {
      const folder = parentPath(path);
      this.#hidden.set(folder, [...(this.#hidden.get(folder) ?? []), name]);
    }
    if (now === undefined || isMark || !isSameEntry(own, now)) return false;
    if (own.kind === "directory") this.#merged.set(path, this.#hasBaseMetadata(path, parent, now));
    else if (isAsItLanded(own, parent, name, now)) this.#drop(path, now);
    return own.kind === "directory";
  }

  #drop(path: string, facts: Facts): void {
    this.#dropped.add(path);
    if (facts.nlink < 2) return;
    const names = this.#linked.get(facts.ino) ?? { nlink: facts.nlink, paths: [] };
    this.#linked.set(facts.ino, { ...names, paths: [...names.paths, path] });
  }

  #hasBaseMetadata(path: string, parent: Folder, facts: Facts): boolean {
    const base = this.#record.get(path);
    if (base === undefined) return false;
    return changedParts(base, base, { facts, xattrs: readXattrs(parent, baseName(path)) }).length === 0;
  }

  /** Whether this folder and all above it show the lower layer. */
  #showsLower(path: string): boolean {
    if (path === ROOT_PATH) return true;
    const known = this.#shows.get(path);
    if (known !== undefined) return known;
    using folder = this.#showsLower(parentPath(path)) ? this.#upper.openBelowIfThere(path) : undefined;
    const shows = folder !== undefined && this.isMerged(path, folder);
    this.#shows.set(path, shows);
    return shows;
  }
}
