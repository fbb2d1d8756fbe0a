import { joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Age } from "../../engine/base/age.ts";
import type { BaseFacts } from "../../engine/base/baseline.ts";
import { walkBelow } from "../../engine/tree/walk.ts";
import { LastParsed } from "../../engine/workspace/last-parsed.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { type Facts, identityKey, isDevice } from "../../system/calls/facts.ts";
import { type FileHandle, factsOfHandle, handleOf } from "../../system/calls/file-handles.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { LayerMarks } from "./layer-marks.ts";

/**
 * The base facts of the paths that the upper layer covers. An overlay keeps no copy of the tree, and a
 * copied-up file does not name its original; so we note the base when a program has ended, and before each
 * write of ours. An entry of the upper layer without a note had nothing below it: if the original has an
 * entry there now, another writer made it.
 *
 * Format of the file `base` in the workspace: JSON, { PATH: BaseFacts }. It grows with the change.
 */
const SAVE = failpoint("overlay.note-base");
const BASE = "base";

/** A copy in the upper layer with nothing below it. */
interface Unfounded {
  readonly path: string;
  readonly facts: Facts;
  readonly origin: FileHandle | "here" | "unknown";
}

/** The entries of the lower layer that the upper one covers. */
interface Hidden {
  readonly files: Set<string>;
  readonly looks: Set<string>;
}

export class BaseRecord {
  readonly #noted: Map<string, BaseFacts>;
  readonly #unfounded: Unfounded[] = [];
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
  #isChanged = false;
  #age: Age | undefined;
  #isLeftOut: (path: string) => boolean = () => false;

  constructor(noted: ReadonlyMap<string, BaseFacts> = new Map()) {
    this.#noted = new Map(noted);
  }

  static load(folder: Folder): BaseRecord {
    const bytes = readWhole(folder, BASE);
    return bytes === undefined ? new BaseRecord() : BaseRecord.fromBytes(bytes);
  }

  /** Loads a shared record, only for lookups. */
  static loadForLookup(folder: Folder): Pick<BaseRecord, "get"> {
    return lastRecord.of(folder, BASE) ?? new BaseRecord();
  }

  static fromBytes(bytes: Uint8Array): BaseRecord {
    return new BaseRecord(new Map(Object.entries(parsed<{ [path: string]: BaseFacts }>(bytes) ?? {})));
  }

  toBytes(): Uint8Array {
    return Buffer.from(JSON.stringify(Object.fromEntries(this.#noted)));
  }

  get(path: string): BaseFacts | undefined {
    return this.#noted.get(path);
  }

  /** Notes the lower layer's entry, unless the path has a note: the first note is the base of the work. */
  note(path: string, lower: Folder, name: string, facts: Facts, changedBefore = false): void {
    if (this.#noted.has(path)) return;
    this.#noted.set(path, { ...baseFacts(lower, name, facts), ...(changedBefore && { changedBefore }) });
    this.#isChanged = true;
  }

  /** The notes of the wanted paths. */
  notes(isWanted: (path: string) => boolean): (readonly [path: string, facts: BaseFacts])[] {
    return [...this.#noted].filter(([path]) => isWanted(path));
  }

  /** Replaces the note of a path. */
  set(path: string, facts: BaseFacts): void {
    this.#noted.set(path, facts);
    this.#isChanged = true;
  }

  /** Drops the notes of paths that the upper layer no longer covers. */
  forget(isWanted: (path: string) => boolean): void {
    for (const [path] of this.notes(isWanted)) this.#noted.delete(path);
    this.#isChanged = true;
  }

  saveIfChanged(folder: Folder, how: "buffered" | "flushed" = "buffered"): void {
    if (this.#isChanged) this.save(folder, how);
  }

  save(folder: Folder, how: "buffered" | "flushed" = "buffered"): void {
    writeWhole(SAVE, folder, BASE, this.toBytes(), how);
    this.#isChanged = false;
  }

  /**
   * Notes everything that the upper layer covers.
   */
  noteAll(
    upper: Folder,
    lower: Folder,
    {
      marks,
      only,
      isLeftOut,
      age,
    }: {
      readonly marks: LayerMarks;
      readonly only: string | undefined;
      /** Whether a path is excluded from the resource. */
      readonly isLeftOut: (path: string) => boolean;
      readonly age: Age;
    },
  ): void {
    this.#age = age;
    this.#isLeftOut = isLeftOut;
    this.#noteFolder(upper, lower, marks, ROOT_PATH, only);
    if (this.#unfounded.length === 0) return;
    const hidden = this.#findHidden(lower);
    for (const copy of this.#unfounded)
      if (!this.#isMoved(copy, lower, hidden)) this.#noteVanished(copy.path, copy.facts);
  }

  /**
   * Whether a copy with nothing below it was moved here by the sandbox. If not, another writer has removed
   * its original.
   */
  #isMoved({ path, facts, origin }: Unfounded, lower: Folder, hidden: Hidden): boolean {
    if (origin === "here") return false;
    if (origin !== "unknown") {
      const source = factsOfHandle(lower, origin);
      return source !== undefined && hidden.files.has(identityKey(source));
    }
    if (!this.#isAnyGone) return false;
    // No writer can have removed an entry from an unchanged folder. In a changed one, only a copy that looks
    // like a covered entry was certainly moved.
    const folder = lower.factsBelow(path.includes("/") ? parentPath(path) : ROOT_PATH);
    return folder === undefined || this.#age?.isSince(folder) !== true || hidden.looks.has(lookOf(facts));
  }

  /** Finds everything that the upper layer covers, at any depth of deleted or replaced folders. */
  #findHidden(lower: Folder): Hidden {
    const hidden: Hidden = { files: new Set(), looks: new Set() };
    for (const facts of this.#noted.values()) addHidden(hidden, facts);
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
    const identity = { ino: 0, btime: [0, 0] } as const;
    this.#noted.set(path, { kind, mode, uid, gid, size, nlink: 1, mtime, xattrs, ...identity });
    this.#isChanged = true;
  }

  /** Remembers an entry with nothing below it that was copied up: here, or elsewhere before it was moved. */
  #suspect(upper: Folder, name: string, path: string, facts: Facts, marks: LayerMarks): void {
    if (this.#noted.has(path)) return;
    if (facts.kind === "directory") this.#suspectFolder(upper, name, path, facts, marks);
    if (facts.kind !== "file") return;
    const origin = marks.originOf(upper, name);
    if (origin !== undefined) this.#unfounded.push({ path, facts, origin });
    else if (marks.originPathOf(upper, name) === path) this.#unfounded.push({ path, facts, origin: "here" });
    else if (marks.isCopyOfUnknown(upper, name) && facts.nlink === 1)
      this.#unfounded.push({ path, facts, origin: "unknown" });
  }

  /** A folder can't have been moved: a merged folder with nothing below it had a folder below it here. */
  #suspectFolder(upper: Folder, name: string, path: string, facts: Facts, marks: LayerMarks): void {
    try {
      using folder = upper.openChild(name);
      if (!marks.isOpaque(folder) && marks.isCopiedUp(folder))
        this.#noteVanishedFolder(folder, path, facts, marks);
    } catch (thrown) {
      // Without privilege, we can't look into a folder that a program has closed; landing it is refused
      // anyway.
      if (!failedWith(thrown, "EACCES")) throw thrown;
    }
  }

  /** The copied-up and the deleted entries inside had something below them too. */
  #noteVanishedFolder(upper: Folder, path: string, facts: Facts, marks: LayerMarks): void {
    this.#noteVanished(path, facts, readXattrs(upper, ROOT_PATH));
    for (const name of upper.names()) {
      const inside = upper.facts(name);
      if (inside === undefined) continue;
      const insidePath = joinPath(path, marks.whitenedName(name) ?? name);
      if (!marks.isMark(upper, name, inside)) this.#suspect(upper, name, insidePath, inside, marks);
      // A whiteout does not say what it deletes. Nothing in this folder lands, so any kind will do.
      else if (!this.#noted.has(insidePath)) this.#noteVanished(insidePath, { ...inside, kind: "file" });
    }
  }

  #noteFolder(upper: Folder, lower: Folder, marks: LayerMarks, path: string, only?: string): void {
    for (const name of upper.names()) {
      const lowerName = marks.whitenedName(name) ?? name;
      if (OWN_NAME.test(lowerName) || (only !== undefined && lowerName !== only)) continue;
      const childPath = joinPath(path, lowerName);
      if (this.#isLeftOut(childPath)) continue;
      const [above, below] = [upper.facts(name), lower.facts(lowerName)];
      if (above === undefined) continue;
      if (below === undefined) this.#suspect(upper, name, childPath, above, marks);
      else if (above.kind === "directory" && below.kind === "directory")
        this.#noteBoth(upper, lower, name, marks, childPath, below);
      else this.#noteCovered(upper, lower, { name, lowerName, path: childPath, above, below }, marks);
    }
  }

  /** The upper layer covers an entry, and not a folder with a folder. */
  #noteCovered(
    upper: Folder,
    lower: Folder,
    entry: Readonly<{ name: string; lowerName: string; path: string; above: Facts; below: Facts }>,
    marks: LayerMarks,
  ): void {
    const { name, lowerName, path, above, below } = entry;
    if (above.kind === "directory") this.#suspect(upper, name, path, above, marks);
    this.#isAnyGone ||=
      above.kind !== "file" || !marks.isCopyOfUnknown(upper, name) || this.#isAlsoOver(above, below);
    if (below.kind === "directory") this.#hiddenFolders.push(path);
    this.note(path, lower, lowerName, below);
  }

  /** Whether a copy also covers another file: it can be the copy of only one of them. */
  #isAlsoOver(copy: Facts, covered: Facts): boolean {
    const first = this.#coveredBy.get(copy.ino) ?? covered.ino;
    this.#coveredBy.set(copy.ino, first);
    return first !== covered.ino;
  }

  /** Both layers have a folder. */
  #noteBoth(upper: Folder, lower: Folder, name: string, marks: LayerMarks, path: string, facts: Facts): void {
    using above = upper.openChild(name);
    const isMerged = !marks.isOpaque(above);
    this.#isAnyGone ||= !isMerged;
    if (!isMerged) this.#hiddenFolders.push(path);
    // The sandbox made a new folder, and another writer made one in the original meanwhile.
    if (isMerged && !marks.isCopiedUp(above)) return;
    if (isMerged && !this.#noted.has(path) && isOther(marks.originOf(upper, name), handleOf(lower, name))) {
      // Another writer has replaced the folder that programs saw here.
      this.#noteVanishedFolder(above, path, above.ownFacts(), marks);
      return;
    }
    this.note(path, lower, name, facts, this.#age?.isSince(facts));
    using below = isMerged ? lower.openBelowIfThere(name) : undefined;
    if (below !== undefined) this.#noteFolder(above, below, marks, path);
  }
}

const lastRecord = new LastParsed((bytes) => BaseRecord.fromBytes(bytes));

function isOther(a: FileHandle | undefined, b: FileHandle | undefined): boolean {
  return a !== undefined && b !== undefined && a !== b;
}

function addHidden({ files, looks }: Hidden, facts: Facts | BaseFacts): void {
  files.add(identityKey(facts));
  if (facts.kind === "file") looks.add(lookOf(facts));
}

/** The facts that a copy shares with its original until a program writes to it. */
function lookOf({ size, mtime }: Facts | BaseFacts): string {
  return `${size} ${mtime.join(".")}`;
}

/**
 * The current facts of an entry, as a base. Without the change time: the barrier tells whether it changed
 * since.
 */
export function baseFacts(folder: Folder, name: string, facts: Facts): BaseFacts {
  const { kind, mode, uid, gid, size, nlink, ino, btime, mtime, rdev } = facts;
  return {
    kind,
    mode,
    uid,
    gid,
    size,
    nlink,
    ino,
    btime,
    mtime,
    xattrs: readXattrs(folder, name),
    ...(kind === "symlink" && { target: folder.readLink(name) }),
    ...(isDevice(kind) && { rdev }),
  };
}
