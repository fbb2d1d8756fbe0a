import { joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { BaseFacts } from "../../engine/base/baseline.ts";
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
 * What the original had at the paths where the upper layer has something of its own. An overlay keeps no copy
 * of the tree, and a copied-up file does not say what it is a copy of; so this is noted when a program has
 * ended and after each write of ours. What is in the upper layer and not noted had nothing below it: if there
 * is something in the original now, somebody else has put it there.
 *
 * Format of the file `base` in the workspace: JSON, { PATH: BaseFacts }. As large as the change.
 */
const SAVE = failpoint("overlay.note-base");
const BASE = "base";

/** A copy in the upper layer with nothing below it. */
interface Unfounded {
  readonly path: string;
  readonly facts: Facts;
  readonly origin: FileHandle | "here" | "unknown";
}

/** What the upper layer covers in the lower one. */
interface Hidden {
  readonly files: Set<string>;
  readonly looks: Set<string>;
}

export class BaseRecord {
  readonly #noted: Map<string, BaseFacts>;
  readonly #unfounded: Unfounded[] = [];
  /**
   * Whether the upper layer deletes or replaces anything of the lower one: it may be that, under another
   * name.
   */
  #isAnyGone = false;
  /**
   * Of copies that do not say what they are of: the inode of the first file of the lower layer that each
   * covers, by its own inode.
   */
  readonly #coveredBy = new Map<number, number>();
  /** Folders of the lower layer that the upper one deletes or replaces. */
  readonly #hiddenFolders: string[] = [];
  #isChanged = false;
  #isAfterBarrier: (facts: Facts) => boolean = () => false;

  constructor(noted: ReadonlyMap<string, BaseFacts> = new Map()) {
    this.#noted = new Map(noted);
  }

  static load(folder: Folder): BaseRecord {
    const bytes = readWhole(folder, BASE);
    return bytes === undefined ? new BaseRecord() : BaseRecord.fromBytes(bytes);
  }

  /** The same for looking up, never for noting: it is shared. */
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

  /**
   * Notes what the lower layer has, if it was not noted before: the first note is what the work began with.
   */
  note(path: string, lower: Folder, name: string, facts: Facts, changedBefore = false): void {
    if (this.#noted.has(path)) return;
    this.#noted.set(path, { ...baseFacts(lower, name, facts), ...(changedBefore && { changedBefore }) });
    this.#isChanged = true;
  }

  /** What is noted of the paths that are wanted. */
  notes(isWanted: (path: string) => boolean): (readonly [path: string, facts: BaseFacts])[] {
    return [...this.#noted].filter(([path]) => isWanted(path));
  }

  /** Notes something that is known otherwise, whatever was noted before. */
  set(path: string, facts: BaseFacts): void {
    this.#noted.set(path, facts);
    this.#isChanged = true;
  }

  /** The upper layer covers nothing there any more. */
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
   * Notes everything that the upper layer covers now. `isAfterBarrier` tells whether somebody changed it
   * since the sandbox was made.
   */
  noteAll(
    upper: Folder,
    lower: Folder,
    {
      marks,
      only,
      isAfterBarrier,
    }: {
      readonly marks: LayerMarks;
      readonly only: string | undefined;
      readonly isAfterBarrier: (facts: Facts) => boolean;
    },
  ): void {
    this.#isAfterBarrier = isAfterBarrier;
    this.#noteFolder(upper, lower, marks, ROOT_PATH, only);
    if (this.#unfounded.length === 0) return;
    const hidden = this.#findHidden(lower);
    for (const copy of this.#unfounded)
      if (!this.#isMoved(copy, lower, hidden)) this.#noteVanished(copy.path, copy.facts);
  }

  /**
   * Whether a copy with nothing below it was moved to its place, and is not what somebody has removed from
   * there.
   */
  #isMoved({ path, facts, origin }: Unfounded, lower: Folder, hidden: Hidden): boolean {
    if (origin === "here") return false;
    if (origin !== "unknown") {
      const source = factsOfHandle(lower, origin);
      return source !== undefined && hidden.files.has(identityKey(source));
    }
    if (!this.#isAnyGone) return false;
    // Nobody can have removed anything from a folder that did not change. In another one, only what looks
    // like something that is covered was moved for sure.
    const folder = lower.factsBelow(path.includes("/") ? parentPath(path) : ROOT_PATH);
    return folder === undefined || !this.#isAfterBarrier(folder) || hidden.looks.has(lookOf(facts));
  }

  /** Finds everything that the upper layer covers, also deep in folders that it deletes or replaces. */
  #findHidden(lower: Folder): Hidden {
    const hidden: Hidden = { files: new Set(), looks: new Set() };
    for (const facts of this.#noted.values()) addHidden(hidden, facts);
    for (const path of this.#hiddenFolders) {
      using folder = lower.openBelowIfThere(path);
      if (folder !== undefined) addHiddenBelow(hidden, folder);
    }
    return hidden;
  }

  /**
   * Something of the lower layer was copied up here, and nothing is there any more: the note fits no file, so
   * that it counts as gone.
   */
  #noteVanished(path: string, facts: Facts, xattrs: Xattrs = {}): void {
    const { kind, mode, uid, gid, size, mtime } = facts;
    const identity = { ino: 0, btime: [0, 0] } as const;
    this.#noted.set(path, { kind, mode, uid, gid, size, nlink: 1, mtime, xattrs, ...identity });
    this.#isChanged = true;
  }

  /**
   * Remembers what has nothing below it but was copied up, from here or, if it was moved since, from
   * elsewhere.
   */
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

  /** A folder can't have been moved: one that is merged with nothing had something below it here. */
  #suspectFolder(upper: Folder, name: string, path: string, facts: Facts, marks: LayerMarks): void {
    try {
      using folder = upper.openChild(name);
      if (!marks.isOpaque(folder) && marks.isCopiedUp(folder))
        this.#noteVanishedFolder(folder, path, facts, marks);
    } catch (thrown) {
      // Without privilege nothing is known of a folder that a program has closed; landing it is refused
      // anyway.
      if (!failedWith(thrown, "EACCES")) throw thrown;
    }
  }

  /** What was copied up in it had something below it too. */
  #noteVanishedFolder(upper: Folder, path: string, facts: Facts, marks: LayerMarks): void {
    this.#noteVanished(path, facts, readXattrs(upper, ROOT_PATH));
    for (const name of upper.names()) {
      const inside = upper.facts(name);
      if (inside !== undefined) this.#suspect(upper, name, joinPath(path, name), inside, marks);
    }
  }

  #noteFolder(upper: Folder, lower: Folder, marks: LayerMarks, path: string, only?: string): void {
    for (const name of upper.names()) {
      const lowerName = marks.whitenedName(name) ?? name;
      if (OWN_NAME.test(lowerName) || (only !== undefined && lowerName !== only)) continue;
      const [above, below] = [upper.facts(name), lower.facts(lowerName)];
      const childPath = joinPath(path, lowerName);
      if (above === undefined) continue;
      if (below === undefined) this.#suspect(upper, name, childPath, above, marks);
      else if (above.kind === "directory" && below.kind === "directory")
        this.#noteBoth(upper, lower, name, marks, childPath, below);
      else this.#noteCovered(upper, lower, { name, lowerName, path: childPath, above, below }, marks);
    }
  }

  /** The upper layer has something else than a folder over a folder. */
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

  /** Whether a copy also covers another file than this one: it can be a copy of only one of them. */
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
    // A new folder where nothing was: somebody else has made one in the original meanwhile.
    if (isMerged && !marks.isCopiedUp(above)) return;
    if (isMerged && !this.#noted.has(path) && isOther(marks.originOf(upper, name), handleOf(lower, name))) {
      // Programs saw another folder here than the one that somebody has put in its place since.
      this.#noteVanishedFolder(above, path, above.ownFacts(), marks);
      return;
    }
    this.note(path, lower, name, facts, this.#isAfterBarrier(facts));
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

function addHiddenBelow(hidden: Hidden, folder: Folder): void {
  for (const name of folder.names()) {
    const facts = folder.facts(name);
    if (facts === undefined) continue;
    addHidden(hidden, facts);
    using inner = facts.kind === "directory" ? folder.openBelowIfThere(name) : undefined;
    if (inner !== undefined) addHiddenBelow(hidden, inner);
  }
}

/** What a copy has in common with what it is of, until somebody writes to it. */
function lookOf({ size, mtime }: Facts | BaseFacts): string {
  return `${size} ${mtime.join(".")}`;
}

/**
 * What an entry is now, as the base of work on it. Without its change time: whether it changed since is for
 * the barrier to tell.
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
