import { baseName, comparePaths, joinPath, parentPath, ROOT_PATH } from "../../core/byte-path.ts";
import type { BaseFacts } from "../../files/baseline.ts";
import type { ChangeSet, FolderTime, TreeChange, TreeEntry } from "../../files/change-set.ts";
import { assertNotTooDeep } from "../../files/depth-limit.ts";
import { changedParts } from "../../files/metadata.ts";
import { sameFileContent } from "../../files/same-entry.ts";
import { OWN_NAME } from "../../files/workspace.ts";
import { type Facts, sameIdentity, sameTime } from "../../system/facts.ts";
import type { Folder } from "../../system/folder.ts";
import { readXattrs } from "../../system/xattrs.ts";
import { type BaseRecord, baseFacts } from "./base-record.ts";
import type { LayerMarks } from "./layer-marks.ts";
import type { LinkedName } from "./linked-names.ts";

/** What a diff of layers needs to know from outside. */
export interface LayerDiffOptions {
  readonly marks: LayerMarks;
  readonly record: BaseRecord;
  /** Programs may be at work, so what the upper layer covers is not all noted yet: what the original has now counts as the base. */
  readonly isLive: boolean;
  /** If the resource is a single file: its name. */
  readonly only?: string;
  /** Whether an entry of the original, as it is now, is still what was there when the sandbox was made. */
  readonly isStillBase: (now: Facts | undefined, base: BaseFacts) => boolean;
  readonly workspace: Folder;
  /** While programs are at work: names of files that were changed through another of their names (linked-names.ts). */
  readonly linkedNames?: () => readonly LinkedName[];
  /** Called now and then with the number of entries looked at; throws to stop. */
  readonly tick?: (entries: number) => void;
}

/** Finds what an upper layer changes. Walks only the upper layer, and what it replaces or deletes as a whole. */
export function diffLayers(upper: Folder, lower: Folder, options: LayerDiffOptions): ChangeSet {
  const diff = new LayerDiff(options);
  diff.root(upper, lower);
  for (const linked of options.linkedNames?.() ?? []) diff.linkedName(lower, linked);
  return diff.result();
}

/** An entry of the upper layer, and where in the lower one its counterpart is, or would be. */
interface Pair {
  readonly path: string;
  readonly upper: Folder;
  readonly name: string;
  readonly facts: Facts;
  /** Undefined if somebody else has removed the folder. */
  readonly lower: Folder | undefined;
  readonly lowerName: string;
  /** As of a change. */
  readonly storedAt?: string;
}

class LayerDiff {
  readonly #options: LayerDiffOptions;
  readonly #changes: TreeChange[] = [];
  readonly #entries: TreeEntry[] = [];
  readonly #folderTimes: FolderTime[] = [];
  /** Files of the upper layer that have several names and are as in the original, by inode. */
  readonly #anchors = new Map<number, { readonly path: string; readonly base: BaseFacts }>();

  constructor(options: LayerDiffOptions) {
    this.#options = options;
  }

  result(): ChangeSet {
    return {
      changes: this.#changes.sort((a, b) => comparePaths(a.path, b.path)),
      entries: this.#entries.sort((a, b) => comparePaths(a.path, b.path)),
      folderTimes: this.#folderTimes,
      anchors: new Map([...this.#anchors].map(([ino, { path }]) => [ino, path])),
    };
  }

  root(upper: Folder, lower: Folder): void {
    const base = this.#options.record.get(ROOT_PATH);
    const root = { path: ROOT_PATH, upper, name: ROOT_PATH, lower, lowerName: ROOT_PATH };
    if (base !== undefined) this.#folderItself({ ...root, facts: upper.ownFacts() }, base, false);
    this.#merged(upper, lower, ROOT_PATH, this.#options.only);
  }

  /** A name that only the lower layer has, of a file that was changed through another of its names. */
  linkedName(root: Folder, { path, storedAt }: LinkedName): void {
    using lower = root.openBelowIfThere(parentPath(path));
    using copies = this.#options.workspace.openBelowIfThere(parentPath(storedAt));
    const name = baseName(storedAt);
    const facts = copies?.facts(name);
    if (copies === undefined || facts === undefined) return;
    this.#compare({ path, upper: copies, name, facts, lower, lowerName: baseName(path), storedAt });
  }

  /** A folder that shows both layers. */
  #merged(upper: Folder, lower: Folder | undefined, path: string, only?: string): void {
    assertNotTooDeep(path);
    const names = upper.names();
    this.#options.tick?.(names.length);
    for (const name of names) {
      const lowerName = this.#options.marks.whitenedName(name) ?? name;
      if (OWN_NAME.test(lowerName) || (only !== undefined && lowerName !== only)) continue;
      const facts = upper.facts(name);
      if (facts !== undefined) this.#compare({ path: joinPath(path, lowerName), upper, name, facts, lower, lowerName });
    }
  }

  #compare(pair: Pair): void {
    const { upper, name, facts, lower, lowerName, path } = pair;
    const now = lower?.facts(lowerName);
    const noted = this.#options.record.get(path);
    const isLiveBase = noted === undefined && this.#options.isLive && lower !== undefined && now !== undefined;
    const base = isLiveBase ? baseFacts(lower, lowerName, now) : noted;
    if (this.#options.marks.isMark(upper, name, facts)) {
      // Gone on both sides is no change.
      if (lower !== undefined && now !== undefined) this.#deleted(lower, lowerName, path, now, base, false);
    } else if (base === undefined) this.#added(upper, name, path, facts, false);
    else if (isOtherKind(base, facts)) {
      this.#entries.push({ path, operation: "replace", before: base, after: facts });
      this.#retyped(pair, base);
    } else if (facts.kind === "directory") this.#folder(pair, base);
    else this.#leaf(pair, base, false);
  }

  #folder(pair: Pair, base: BaseFacts): void {
    const { path, facts } = pair;
    using above = pair.upper.openBelowIfThere(pair.name);
    if (above === undefined) return;
    using below = pair.lower?.openBelowIfThere(pair.lowerName);
    if (!this.#options.marks.isOpaque(above)) {
      this.#folderItself(pair, base, false);
      this.#merged(above, below, path);
      return;
    }
    const changesBefore = this.#changes.length;
    const timesBefore = this.#folderTimes.length;
    this.#folderItself(pair, base, true);
    this.#replaced(above, below, path);
    if (this.#changes.length === changesBefore) return;
    this.#entries.push({ path, operation: "replace", before: base, after: facts });
    // Folders that move keep their times.
    this.#folderTimes.length = timesBefore;
  }

  /** Compares a folder with another one that it takes the place of; an entry above moves everything. */
  #replaced(above: Folder, below: Folder | undefined, path: string): void {
    assertNotTooDeep(path);
    const names = above.names();
    this.#options.tick?.(names.length);
    const seen = new Set(names);
    for (const name of names) {
      const facts = above.facts(name);
      if (facts === undefined) continue;
      if (this.#options.marks.isMark(above, name, facts)) seen.delete(name);
      else
        this.#replacedEntry({
          path: joinPath(path, name),
          upper: above,
          name,
          facts,
          lower: below,
          lowerName: name,
        });
    }
    for (const name of below?.names() ?? []) {
      const now = seen.has(name) || OWN_NAME.test(name) ? undefined : below?.facts(name);
      if (below !== undefined && now !== undefined)
        this.#deleted(below, name, joinPath(path, name), now, baseFacts(below, name, now), true);
    }
  }

  #replacedEntry(pair: Pair): void {
    const { path, upper, name, facts, lower } = pair;
    const now = lower?.facts(name);
    if (lower === undefined || now === undefined) {
      this.#added(upper, name, path, facts, true);
      return;
    }
    const base = baseFacts(lower, name, now);
    if (isOtherKind(base, facts)) this.#retyped(pair, base);
    else if (facts.kind !== "directory") this.#leaf(pair, base, true);
    else {
      this.#folderItself(pair, base, true);
      using folder = upper.openBelowIfThere(name);
      using other = lower.openBelowIfThere(name);
      if (folder !== undefined) this.#replaced(folder, other, path);
    }
  }

  #leaf(pair: Pair, base: BaseFacts, covered: boolean): void {
    const { path, facts } = pair;
    const xattrs = readXattrs(pair.upper, pair.name);
    const parts = changedParts(base, base, facts, xattrs, true);
    const hasContent = this.#hasBaseContent(pair, base);
    if (hasContent && parts.length === 0 && !this.#isRelinked(path, base, facts, covered)) return;
    // Copying up has given it a life of its own, apart from its other names.
    const replaced = !hasContent || parts.length === 0 || base.nlink > 1 || facts.nlink > 1;
    const change = { path, before: base, after: facts, ...(parts.includes("xattrs") && { xattrs }) };
    const stored = pair.storedAt === undefined ? {} : { storedAt: pair.storedAt };
    this.#changes.push({ ...change, ...stored, operation: "modified", ...(!replaced && { parts }) });
    if (covered) return;
    this.#entries.push(replaced ? { ...change, operation: "replace" } : { ...change, operation: "metadata", parts });
  }

  /** Whether an otherwise untouched name has become another name of a file that it was not one of. The first of them is what others are linked to. */
  #isRelinked(path: string, base: BaseFacts, facts: Facts, covered: boolean): boolean {
    if (covered || facts.nlink < 2) return false;
    const anchor = this.#anchors.get(facts.ino);
    if (anchor === undefined) this.#anchors.set(facts.ino, { path, base });
    return anchor !== undefined && !sameIdentity(anchor.base, base);
  }

  #hasBaseContent({ upper, name, facts, lower, lowerName }: Pair, base: BaseFacts): boolean {
    if (facts.kind === "symlink") return upper.readLink(name) === base.target;
    if (facts.kind !== "file") return true;
    if (facts.size !== base.size || lower === undefined) return false;
    if (!this.#options.isStillBase(lower.facts(lowerName), base)) return false;
    return facts.size === 0 || sameFileContent(lower, lowerName, upper, name);
  }

  #folderItself({ path, upper, name, facts }: Pair, base: BaseFacts, covered: boolean): void {
    const xattrs = readXattrs(upper, name);
    const parts = changedParts(base, base, facts, xattrs, false);
    if (!sameTime(facts.mtime, base.mtime)) this.#folderTimes.push({ path, mtime: facts.mtime });
    if (parts.length === 0) return;
    const change = { path, before: base, after: facts, parts, ...(parts.includes("xattrs") && { xattrs }) };
    this.#changes.push({ ...change, operation: "modified" });
    if (!covered) this.#entries.push({ ...change, operation: "metadata" });
  }

  #retyped({ path, upper, name, facts, lower, lowerName }: Pair, base: BaseFacts): void {
    this.#changes.push({ path, operation: "typechanged", before: base, after: facts });
    if (lower !== undefined && base.kind === "directory") this.#deletedContents(lower, lowerName, path);
    if (facts.kind === "directory") this.#addedContents(upper, name, path);
  }

  #added(upper: Folder, name: string, path: string, facts: Facts, covered: boolean): void {
    this.#changes.push({ path, operation: "added", after: facts });
    if (!covered) this.#entries.push({ path, operation: "add", after: facts });
    if (facts.kind === "directory") this.#addedContents(upper, name, path);
  }

  #addedContents(upper: Folder, name: string, path: string): void {
    assertNotTooDeep(path);
    using folder = upper.openBelowIfThere(name);
    const names = folder?.names() ?? [];
    this.#options.tick?.(names.length);
    for (const child of names) {
      const facts = folder?.facts(child);
      if (folder === undefined || facts === undefined || this.#options.marks.isMark(folder, child, facts)) continue;
      this.#added(folder, child, joinPath(path, child), facts, true);
    }
  }

  /** `base` is undefined if it came only after the sandbox had deleted what was there. */
  #deleted(lower: Folder, name: string, path: string, now: Facts, base: BaseFacts | undefined, covered: boolean): void {
    const before = base ?? baseFacts(lower, name, now);
    this.#changes.push({ path, operation: "deleted", before });
    if (!covered) this.#entries.push({ path, operation: "delete", ...(base !== undefined && { before: base }) });
    if (now.kind === "directory") this.#deletedContents(lower, name, path);
  }

  #deletedContents(lower: Folder, name: string, path: string): void {
    assertNotTooDeep(path);
    using folder = lower.openBelowIfThere(name);
    const names = folder?.names() ?? [];
    this.#options.tick?.(names.length);
    for (const child of names) {
      const now = OWN_NAME.test(child) ? undefined : folder?.facts(child);
      if (folder === undefined || now === undefined) continue;
      this.#deleted(folder, child, joinPath(path, child), now, baseFacts(folder, child, now), true);
    }
  }
}

function isOtherKind(base: BaseFacts, facts: Facts): boolean {
  if (base.kind !== facts.kind) return true;
  return (facts.kind === "device" || facts.kind === "block-device") && base.rdev !== facts.rdev;
}
