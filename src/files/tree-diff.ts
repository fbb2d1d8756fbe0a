import { comparePaths, joinPath, ROOT_PATH } from "../core/byte-path.ts";
import { failedWith } from "../system/errno.ts";
import { type Facts, lastFacts, low53, STAT, sameIdentity, sameTime, statListed, statWords } from "../system/facts.ts";
import type { Folder } from "../system/folder.ts";
import { listedInode, nameFrom, readNameBytes, readNames } from "../system/listing.ts";
import { readXattrs } from "../system/xattrs.ts";
import type { BaseFacts, Baseline } from "./baseline.ts";
import type { ChangeSet, FolderTime, TreeChange, TreeEntry } from "./change-set.ts";
import { assertNotTooDeep } from "./depth-limit.ts";
import { changedParts } from "./metadata.ts";

/** What a diff of a copied tree needs to know from outside. */
export interface TreeDiffOptions {
  /** If the resource is a single file: its name. Everything beside it is not ours. */
  readonly only?: string;
  /** Whether the sandbox's file has the content that the original had when it was copied. */
  readonly hasBaseContent: (path: string, sandbox: Folder, name: string, base: BaseFacts) => boolean;
  /** Whether the entry with this index still has this inode, and neither it nor anything below it was touched. Then it is not looked at. */
  readonly isKnownUntouched?: (index: number, ino: number) => boolean;
  /** Called now and then with the number of entries looked at; throws to stop. */
  readonly tick?: (entries: number) => void;
}

/** What a diff asks of a baseline: entries by their index, folders' contents as a range of them. */
export type BaseEntries = Pick<
  Baseline,
  "root" | "name" | "isNamed" | "children" | "isFolder" | "isUntouched" | "copy" | "facts"
>;

/** Compares a copied tree with its baseline. Reads a file's content only if its change time moved but nothing else tells. */
export function diffTree(tree: Folder, baseline: BaseEntries, options: TreeDiffOptions): ChangeSet {
  const diff = new TreeDiff(baseline, options);
  diff.root(tree);
  return diff.result();
}

/** Looks at entries without making objects for those that are untouched: a tree may have a million. */
class TreeDiff {
  readonly #baseline: BaseEntries;
  readonly #options: TreeDiffOptions;
  readonly #changes: TreeChange[] = [];
  readonly #entries: TreeEntry[] = [];
  readonly #folderTimes: FolderTime[] = [];
  readonly #anchors = new Map<number, string>();

  constructor(baseline: BaseEntries, options: TreeDiffOptions) {
    this.#baseline = baseline;
    this.#options = options;
  }

  result(): ChangeSet {
    return {
      changes: this.#changes.sort((a, b) => comparePaths(a.path, b.path)),
      entries: this.#entries.sort((a, b) => comparePaths(a.path, b.path)),
      folderTimes: this.#folderTimes,
      anchors: this.#anchors,
    };
  }

  root(tree: Folder): void {
    if (this.#options.only === undefined)
      this.#folderItself(tree, ROOT_PATH, ROOT_PATH, this.#baseline.root, tree.ownFacts(), false);
    this.#contents(tree, ROOT_PATH, this.#baseline.root, false);
  }

  /** `covered`: an entry above already moves everything here. */
  #contents(folder: Folder, path: string, index: number, covered: boolean): void {
    assertNotTooDeep(path);
    const baseline = this.#baseline;
    const [from, to] = baseline.children(index);
    const seen = new Uint8Array(to - from);
    const folders: (readonly [name: string, index: number, covered: boolean])[] = [];
    const touched: (readonly [name: string, index: number | undefined, facts: Facts])[] = [];
    const find = finder(baseline, from, to);
    const only = path === ROOT_PATH ? this.#options.only : undefined;
    const { isKnownUntouched } = this.#options;
    readNameBytes(folder, (bytes, start, end, pointer) => {
      if (only !== undefined && nameFrom(bytes, start, end) !== only) return;
      const child = find(bytes, start, end);
      const isKnown = child !== undefined && isKnownUntouched?.(child, listedInode(bytes, start)) === true;
      if (!isKnown && !statListed(folder, pointer)) return;
      if (child !== undefined) seen[child - from] = 1;
      if (isKnown) return;
      if (child === undefined || !isUntouched(baseline, child))
        touched.push([nameFrom(bytes, start, end), child, lastFacts()]);
      else if (baseline.isFolder(child)) folders.push([nameFrom(bytes, start, end), child, covered]);
      // Untouched, but another of its names may have come along with a folder that was moved.
      else if (!covered && (statWords()[STAT.nlink] as number) > 1)
        this.#anchors.set(low53(statWords(), STAT.ino), joinPath(path, nameFrom(bytes, start, end)));
    });
    this.#options.tick?.(to - from);
    for (const [name, child, facts] of touched) {
      const childPath = joinPath(path, name);
      if (child === undefined) this.#added(folder, name, childPath, facts, covered);
      else if (!this.#compareIfThere(folder, name, childPath, child, facts, covered))
        folders.push([name, child, covered]);
    }
    for (let at = 0; at < seen.length; at += 1) {
      if (seen[at] === 0) this.#deleted(joinPath(path, baseline.name(from + at)), from + at, covered);
    }
    for (const [name, child, childCovered] of folders) {
      using below = folder.openBelowIfThere(name);
      if (below === undefined) this.#deleted(joinPath(path, name), child, childCovered);
      else this.#contents(below, joinPath(path, name), child, childCovered);
    }
  }

  /** Somebody may be at work in the sandbox: what goes while it is looked at is deleted. */
  #compareIfThere(folder: Folder, name: string, path: string, index: number, facts: Facts, covered: boolean): boolean {
    try {
      return this.#compare(folder, name, path, index, facts, covered);
    } catch (thrown) {
      if (!failedWith(thrown, "ENOENT") || folder.facts(name) !== undefined) throw thrown;
      this.#deleted(path, index, covered);
      return true;
    }
  }

  /** Compares one entry that was touched. False if it is a folder whose contents are still to be looked at. */
  #compare(folder: Folder, name: string, path: string, index: number, facts: Facts, covered: boolean): boolean {
    const before = this.#baseline.facts(index);
    if (before.kind !== facts.kind || (isDevice(facts.kind) && before.rdev !== facts.rdev)) {
      this.#retyped(folder, name, path, index, before, facts, covered);
      return true;
    }
    if (facts.kind !== "directory") {
      this.#leaf(folder, name, path, index, before, facts, covered);
      return true;
    }
    if (sameIdentity(facts, this.#baseline.copy(index))) {
      this.#folderItself(folder, name, path, index, facts, covered);
      return false;
    }
    this.#replacedFolder(folder, name, path, index, before, facts, covered);
    return true;
  }

  #leaf(
    folder: Folder,
    name: string,
    path: string,
    index: number,
    before: BaseFacts,
    facts: Facts,
    covered: boolean,
  ): void {
    const xattrs = readXattrs(folder, name);
    const parts = changedParts(this.#baseline.copy(index), before, facts, xattrs, true);
    const replaced = this.#isRelinked(index, before, facts) || !this.#hasBaseContent(folder, name, path, before, facts);
    if (!replaced && facts.nlink > 1 && !covered) this.#anchors.set(facts.ino, path);
    if (!replaced && parts.length === 0) return;
    const change = { path, before, after: facts, ...(parts.includes("xattrs") && { xattrs }) };
    this.#changes.push({ ...change, operation: "modified", ...(!replaced && { parts }) });
    if (covered) return;
    this.#entries.push(replaced ? { ...change, operation: "replace" } : { ...change, operation: "metadata", parts });
  }

  /** A name that was moved to another inode matters where inodes have several names, then or now. */
  #isRelinked(index: number, before: BaseFacts, facts: Facts): boolean {
    return !sameIdentity(facts, this.#baseline.copy(index)) && (facts.nlink > 1 || before.nlink > 1);
  }

  #hasBaseContent(folder: Folder, name: string, path: string, before: BaseFacts, facts: Facts): boolean {
    if (facts.kind === "symlink") return folder.readLink(name) === before.target;
    if (facts.kind !== "file") return true;
    return facts.size === before.size && this.#options.hasBaseContent(path, folder, name, before);
  }

  #folderItself(parent: Folder, name: string, path: string, index: number, facts: Facts, covered: boolean): void {
    const before = this.#baseline.facts(index);
    if (isUntouchedFolder(this.#baseline, index, facts, before)) return;
    const xattrs = readXattrs(parent, name);
    const parts = changedParts(this.#baseline.copy(index), before, facts, xattrs, false);
    if (!covered && !sameTime(facts.mtime, before.mtime)) this.#folderTimes.push({ path, mtime: facts.mtime });
    if (parts.length === 0) return;
    const change = { path, before, after: facts, parts, ...(parts.includes("xattrs") && { xattrs }) };
    this.#changes.push({ ...change, operation: "modified" });
    if (!covered) this.#entries.push({ ...change, operation: "metadata" });
  }

  /** Another folder by the same name. If nothing in it differs, its being another one is nobody's concern. */
  #replacedFolder(
    parent: Folder,
    name: string,
    path: string,
    index: number,
    before: BaseFacts,
    facts: Facts,
    covered: boolean,
  ): void {
    const changesBefore = this.#changes.length;
    this.#folderItself(parent, name, path, index, facts, true);
    using below = parent.openBelowIfThere(name);
    if (below === undefined) this.#deletedContents(path, index);
    else this.#contents(below, path, index, true);
    if (covered) return;
    if (this.#changes.length > changesBefore) this.#entries.push({ path, operation: "replace", before, after: facts });
    else if (!sameTime(facts.mtime, before.mtime)) this.#folderTimes.push({ path, mtime: facts.mtime });
  }

  #retyped(
    folder: Folder,
    name: string,
    path: string,
    index: number,
    before: BaseFacts,
    facts: Facts,
    covered: boolean,
  ): void {
    this.#changes.push({ path, operation: "typechanged", before, after: facts });
    if (!covered) this.#entries.push({ path, operation: "replace", before, after: facts });
    this.#deletedContents(path, index);
    if (facts.kind === "directory") this.#addedContents(folder, name, path);
  }

  #added(folder: Folder, name: string, path: string, facts: Facts, covered: boolean): void {
    this.#changes.push({ path, operation: "added", after: facts });
    if (!covered) this.#entries.push({ path, operation: "add", after: facts });
    if (facts.kind === "directory") this.#addedContents(folder, name, path);
  }

  #addedContents(parent: Folder, name: string, path: string): void {
    assertNotTooDeep(path);
    using folder = parent.openBelowIfThere(name);
    if (folder === undefined) return;
    const found: (readonly [string, Facts])[] = [];
    readNames(folder, (child, pointer) => {
      if (statListed(folder, pointer)) found.push([child, lastFacts()]);
    });
    this.#options.tick?.(found.length);
    for (const [child, facts] of found) this.#added(folder, child, joinPath(path, child), facts, true);
  }

  #deleted(path: string, index: number, covered: boolean): void {
    const before = this.#baseline.facts(index);
    this.#changes.push({ path, operation: "deleted", before });
    if (!covered) this.#entries.push({ path, operation: "delete", before });
    this.#deletedContents(path, index);
  }

  #deletedContents(path: string, index: number): void {
    const [from, to] = this.#baseline.children(index);
    for (let at = from; at < to; at += 1) this.#deleted(joinPath(path, this.#baseline.name(at)), at, true);
  }
}

type FindByName = (bytes: Buffer, start: number, end: number) => number | undefined;

/** Entries mostly come in the order they were copied in; only where they do not is a table made. */
function finder(baseline: BaseEntries, from: number, to: number): FindByName {
  let next = from;
  let table: Map<string, number> | undefined;
  return (bytes, start, end) => {
    if (table === undefined && next < to && baseline.isNamed(next, bytes, start, end)) {
      next += 1;
      return next - 1;
    }
    if (table === undefined) {
      table = new Map();
      for (let at = from; at < to; at += 1) table.set(baseline.name(at), at);
    }
    return table.get(nameFrom(bytes, start, end));
  };
}

function isUntouched(baseline: BaseEntries, index: number): boolean {
  const w = statWords();
  const mode = (w[STAT.mode] as number) & 0xffff;
  return baseline.isUntouched(
    index,
    low53(w, STAT.ino),
    mode,
    low53(w, STAT.size),
    seconds(w, STAT.ctime),
    w[STAT.ctime + 2] as number,
    seconds(w, STAT.mtime),
    w[STAT.mtime + 2] as number,
  );
}

function seconds(w: Uint32Array, index: number): number {
  return ((w[index + 1] as number) | 0) * 0x1_0000_0000 + (w[index] as number);
}

function isUntouchedFolder(baseline: BaseEntries, index: number, facts: Facts, before: BaseFacts): boolean {
  const bits = 0o040000 | facts.mode;
  return baseline.isUntouched(
    index,
    facts.ino,
    bits,
    before.size,
    facts.ctime[0],
    facts.ctime[1],
    facts.mtime[0],
    facts.mtime[1],
  );
}

function isDevice(kind: string): boolean {
  return kind === "device" || kind === "block-device";
}
