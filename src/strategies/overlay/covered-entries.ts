import { joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type BaseFacts, NO_IDENTITY } from "../../engine/base/base-facts.ts";
import type { Age } from "../../engine/base/own-touches.ts";
import { type WalkedEntry, walkBelow } from "../../engine/tree/walk.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { type Facts, identityKey } from "../../system/calls/facts.ts";
import { type FileHandle, factsOfHandle, handleOf } from "../../system/calls/file-handles.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import type { BaseRecord } from "./base-record.ts";
import type { SettledLayer } from "./landed/settled-layer.ts";
import type { LayerMarks } from "./layer-marks.ts";

/** The facts that the layers do not show. */
interface CoverOptions {
  readonly marks: LayerMarks;
  readonly settled: SettledLayer;
  /** If the resource is a single file: its name. */
  readonly only: string | undefined;
  /** Whether a path is excluded from the resource. */
  readonly isLeftOut: (path: string) => boolean;
  readonly age: Age;
}

/** Notes in the record everything that the upper layer covers, where there is no note yet. */
export function noteCovered(record: BaseRecord, upper: Folder, lower: Folder, options: CoverOptions): void {
  new CoveredEntries(record, options).note(upper, lower);
}

/** A copy in the upper layer with nothing below it. */
interface CopyWithoutBase {
  readonly path: string;
  readonly facts: Facts;
  readonly origin: FileHandle | "here" | "unknown";
}

/** The entries of the lower layer that the upper one covers. */
interface HiddenEntries {
  readonly files: Set<string>;
  readonly looks: Set<string>;
}

/** An entry of the lower layer, under the entry of the upper one that covers it. */
interface Below {
  readonly folder: Folder;
  readonly name: string;
  readonly facts: Facts;
}

class CoveredEntries {
  readonly #record: BaseRecord;
  readonly #options: CoverOptions;
  readonly #withoutBase: CopyWithoutBase[] = [];
  /**
   * Whether the upper layer deletes or replaces an entry of the lower one. A copy without a base may be that
   * entry, moved.
   */
  #isAnyGone = false;
  /**
   * For copies that do not name their original: the inode of the first lower file that each covers, by the
   * copy's inode.
   */
  readonly #coveredBy = new Map<number, number>();
  /** Folders of the lower layer that the upper one deletes or replaces. */
  readonly #hiddenFolders: string[] = [];

  constructor(record: BaseRecord, options: CoverOptions) {
    this.#record = record;
    this.#options = options;
  }

  note(upper: Folder, lower: Folder): void {
    this.#noteFolder(upper, lower, ROOT_PATH);
    if (this.#withoutBase.length === 0) return;
    const hidden = this.#findHidden(lower);
    for (const copy of this.#withoutBase)
      if (!this.#isMoved(copy, lower, hidden)) this.#noteVanished(copy.path, copy.facts);
  }

  /**
   * Whether a copy with nothing below it was moved here by the sandbox. If not, another writer has removed
   * its original.
   */
  #isMoved({ path, facts, origin }: CopyWithoutBase, lower: Folder, hidden: HiddenEntries): boolean {
    if (origin === "here") return false;
    if (origin !== "unknown") {
      const source = factsOfHandle(lower, origin);
      return source !== undefined && hidden.files.has(identityKey(source));
    }
    if (!this.#isAnyGone) return false;
    // No writer can have removed an entry from an unchanged folder. In a changed one, only a copy that looks
    // like a covered entry was certainly moved.
    const folder = lower.factsBelow(parentPath(path));
    return folder === undefined || !this.#options.age.isSince(folder) || hidden.looks.has(lookOf(facts));
  }

  /** Finds everything that the upper layer covers, at any depth of deleted or replaced folders. */
  #findHidden(lower: Folder): HiddenEntries {
    const hidden: HiddenEntries = { files: new Set(), looks: new Set() };
    for (const [, facts] of this.#record.notes(() => true)) addHidden(hidden, facts);
    for (const path of this.#hiddenFolders)
      for (const { facts } of walkBelow(lower, path)) addHidden(hidden, facts);
    return hidden;
  }

  /**
   * Notes that the original of a copied-up entry is gone: the note fits no file, so the entry counts as
   * deleted.
   */
  #noteVanished(path: string, facts: Facts, xattrs: Xattrs = {}): void {
    const { kind, mode, uid, gid, size, mtime } = facts;
    this.#record.set(path, { kind, mode, uid, gid, size, nlink: 1, mtime, xattrs, ...NO_IDENTITY });
  }

  /** Remembers an entry with nothing below it that was copied up: here, or elsewhere before it was moved. */
  #suspect(entry: WalkedEntry): void {
    const { path, parent, name, facts } = entry;
    if (this.#record.get(path) !== undefined) return;
    if (facts.kind === "directory") this.#suspectFolder(entry);
    const { marks, settled } = this.#options;
    // Its original may have gone with what has landed.
    if (facts.kind !== "file" || settled.isKnown(facts)) return;
    const origin = marks.originOf(parent, name);
    if (origin !== undefined) this.#withoutBase.push({ path, facts, origin });
    else if (marks.originPathOf(parent, name) === path)
      this.#withoutBase.push({ path, facts, origin: "here" });
    else if (marks.isCopyOfUnknown(parent, name) && facts.nlink === 1)
      this.#withoutBase.push({ path, facts, origin: "unknown" });
  }

  /** A folder can't have been moved: a merged folder with nothing below it had a folder below it here. */
  #suspectFolder({ path, parent, name, facts }: WalkedEntry): void {
    const { marks } = this.#options;
    try {
      using folder = parent.openChild(name);
      if (!marks.isOpaque(folder) && marks.isCopiedUp(folder)) this.#noteVanishedFolder(folder, path, facts);
    } catch (thrown) {
      // Without privilege, we can't look into a folder that a program has closed; landing it is refused
      // anyway.
      if (!failedWith(thrown, "EACCES")) throw thrown;
    }
  }

  /** The copied-up and the deleted entries inside had something below them too. */
  #noteVanishedFolder(upper: Folder, folderPath: string, ownFacts: Facts): void {
    const { marks } = this.#options;
    this.#noteVanished(folderPath, ownFacts, readXattrs(upper, ROOT_PATH));
    for (const name of upper.names()) {
      const facts = upper.facts(name);
      if (facts === undefined) continue;
      const path = joinPath(folderPath, marks.whitenedName(name) ?? name);
      if (!marks.isMark(upper, name, facts)) this.#suspect({ path, parent: upper, name, facts });
      // A whiteout does not say what it deletes. Nothing in this folder lands, so any kind will do.
      else if (this.#record.get(path) === undefined) this.#noteVanished(path, { ...facts, kind: "file" });
    }
  }

  #noteFolder(upper: Folder, lower: Folder, folderPath: string): void {
    const only = folderPath === ROOT_PATH ? this.#options.only : undefined;
    for (const name of upper.names()) {
      const lowerName = this.#options.marks.whitenedName(name) ?? name;
      if (OWN_NAME.test(lowerName) || (only !== undefined && lowerName !== only)) continue;
      const path = joinPath(folderPath, lowerName);
      if (this.#options.isLeftOut(path) || this.#options.settled.dropped.has(path)) continue;
      const [facts, below] = [upper.facts(name), lower.facts(lowerName)];
      if (facts === undefined) continue;
      const entry = { path, parent: upper, name, facts };
      if (below === undefined) this.#suspect(entry);
      else this.#noteOver(entry, { folder: lower, name: lowerName, facts: below });
    }
  }

  /** The upper layer covers an entry. */
  #noteOver(entry: WalkedEntry, below: Below): void {
    const { path, parent, name, facts } = entry;
    if (facts.kind === "directory" && below.facts.kind === "directory") {
      this.#noteBoth(entry, below);
      return;
    }
    if (facts.kind === "directory") this.#suspect(entry);
    this.#isAnyGone ||=
      facts.kind !== "file" ||
      !this.#options.marks.isCopyOfUnknown(parent, name) ||
      this.#isAlsoOver(facts, below.facts);
    if (below.facts.kind === "directory") this.#hiddenFolders.push(path);
    this.#record.note(path, below, below.facts);
  }

  /** Whether a copy also covers another file: it can be the copy of only one of them. */
  #isAlsoOver(copy: Facts, covered: Facts): boolean {
    const first = this.#coveredBy.get(copy.ino) ?? covered.ino;
    this.#coveredBy.set(copy.ino, first);
    return first !== covered.ino;
  }

  /** Both layers have a folder. */
  #noteBoth({ path, parent, name }: WalkedEntry, below: Below): void {
    const { marks, age, settled } = this.#options;
    using above = parent.openChild(name);
    const isMerged = settled.isMerged(path, above);
    this.#isAnyGone ||= !isMerged;
    if (!isMerged) this.#hiddenFolders.push(path);
    // The sandbox made a new folder, and another writer made one in the original meanwhile.
    if (isMerged && !settled.merged.has(path) && !marks.isCopiedUp(above)) return;
    const isNew = this.#record.get(path) === undefined;
    if (isMerged && isNew && isOther(marks.originOf(parent, name), handleOf(below.folder, below.name))) {
      // Another writer has replaced the folder that programs saw here.
      this.#noteVanishedFolder(above, path, above.ownFacts());
      return;
    }
    this.#record.note(path, below, below.facts, age.isSince(below.facts));
    using folder = isMerged ? below.folder.openBelowIfThere(below.name) : undefined;
    if (folder !== undefined) this.#noteFolder(above, folder, path);
  }
}

function isOther(a: FileHandle | undefined, b: FileHandle | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

function addHidden({ files, looks }: HiddenEntries, facts: Facts | BaseFacts): void {
  files.add(identityKey(facts));
  if (facts.kind === "file") looks.add(lookOf(facts));
}

/** The facts that a copy shares with its original until a program writes to it. */
function lookOf({ size, mtime }: Facts | BaseFacts): string {
  return `${size} ${mtime.join(".")}`;
}
