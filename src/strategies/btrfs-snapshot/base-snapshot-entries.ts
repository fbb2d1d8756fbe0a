import { baseName, bytesFromPath, joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type BaseFacts, baseFacts, entryFacts } from "../../engine/base/base-facts.ts";
import type { CopyFacts } from "../../engine/base/baseline.ts";
import { isSameStat, lastStat, type StatView, statOf } from "../../engine/base/stat-view.ts";
import type { BaseEntries } from "../../engine/changes/tree-diff.ts";
import type { CopiedEntry } from "../../engine/tree/copy-tree.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import { compareTimes, type Facts, statListed, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { isListedFolder, listedInode, nameFrom, readNameBytes } from "../../system/calls/listing.ts";
import { BaseOverrides } from "./base-overrides.ts";

/**
 * One row of numbers for each entry. `from` and `to` are the range of a folder's contents, both 0 until the
 * folder is listed. The columns behind them are filled only for entries that may have been touched.
 */
const COLUMN = {
  ino: 0,
  isFolder: 1,
  nameAt: 2,
  nameLength: 3,
  parent: 4,
  from: 5,
  to: 6,
  mode: 7,
  size: 8,
  ctime: 9,
  ctimeNs: 10,
  mtime: 11,
  mtimeNs: 12,
} as const;
const COLUMNS = 13;

/** The facts about the work that the base snapshot does not hold. */
export interface KnownWork {
  /**
   * The inodes of all touched entries of the sandbox and of the folders above them. If given, no other entry
   * is read.
   */
  readonly touched?: ReadonlySet<number> | undefined;
  /** The parts of the work that have landed. */
  readonly landed?: BaseOverrides | undefined;
}

/**
 * The base snapshot as a baseline: the diff reads the base of an entry from the snapshot itself, when it
 * comes to it. A snapshot keeps inode numbers and times, so an entry with those of its base is untouched.
 * Landed entries override the base, and are always compared.
 */
export class BaseSnapshotEntries implements BaseEntries {
  readonly root = 0;
  readonly #base: Folder;
  readonly #barrier: Time;
  readonly #touched: ReadonlySet<number> | undefined;
  readonly #landed: BaseOverrides;
  /** The landed entries, by index. */
  readonly #landedEntries = new Map<number, CopiedEntry>();
  #rows = new Float64Array(1024 * COLUMNS);
  #names = Buffer.allocUnsafe(16 * 1024);
  #count = 0;
  #nameBytes = 0;
  #open: { readonly index: number; readonly folder: Folder } | undefined;

  /**
   * `barrier` was taken before the base was made: an entry that changed after it may have changed twice
   * within one tick of the clock, so its times prove nothing.
   */
  constructor(base: Folder, barrier: Time, { touched, landed = new BaseOverrides() }: KnownWork = {}) {
    this.#base = base;
    this.#barrier = barrier;
    this.#touched = touched;
    this.#landed = landed;
    const root = landed.entry(ROOT_PATH);
    if (root !== undefined) this.#addLanded(root, this.root);
    else {
      this.#add(Buffer.from(ROOT_PATH), 0, 1, [base.ownFacts().ino, 1, this.root]);
      this.#keepStat(lastStat);
    }
  }

  [Symbol.dispose](): void {
    this.#open?.folder.close();
  }

  /** Whether an entry with this inode in the sandbox is untouched, with all its contents. */
  isKnownUntouched(index: number, ino: number): boolean {
    const isOfBase = !this.#landedEntries.has(index);
    return (
      isOfBase &&
      this.#touched !== undefined &&
      !this.#touched.has(ino) &&
      this.#at(index, COLUMN.ino) === ino
    );
  }

  name(index: number): string {
    const start = this.#at(index, COLUMN.nameAt);
    return nameFrom(this.#names, start, start + this.#at(index, COLUMN.nameLength));
  }

  isNamed(index: number, bytes: Buffer, start: number, end: number): boolean {
    const length = this.#at(index, COLUMN.nameLength);
    if (length !== end - start) return false;
    const from = this.#at(index, COLUMN.nameAt);
    for (let at = 0; at < length; at += 1) if (this.#names[from + at] !== bytes[start + at]) return false;
    return true;
  }

  isFolder(index: number): boolean {
    return this.#at(index, COLUMN.isFolder) === 1;
  }

  children(index: number): readonly [from: number, to: number] {
    if (this.isFolder(index) && this.#at(index, COLUMN.from) === 0) this.#list(index);
    return [this.#at(index, COLUMN.from), this.#at(index, COLUMN.to)];
  }

  isUntouched(index: number, stat: StatView): boolean {
    if (!isSameStat(this.#stat(index), stat)) return false;
    return this.#landedEntries.has(index) || compareTimes([stat.ctime, stat.ctimeNs], this.#barrier) < 0;
  }

  #stat(index: number): StatView {
    return {
      ino: this.#at(index, COLUMN.ino),
      mode: this.#at(index, COLUMN.mode),
      size: this.#at(index, COLUMN.size),
      ctime: this.#at(index, COLUMN.ctime),
      ctimeNs: this.#at(index, COLUMN.ctimeNs),
      mtime: this.#at(index, COLUMN.mtime),
      mtimeNs: this.#at(index, COLUMN.mtimeNs),
    };
  }

  copy(index: number): CopyFacts {
    return this.#landedEntries.get(index)?.copy ?? this.facts(index);
  }

  facts(index: number): BaseFacts {
    const landed = this.#landedEntries.get(index);
    if (landed !== undefined) return entryFacts(landed);
    const [folder, name] = this.#find(index);
    return baseFacts(folder, name, folder.facts(name) as Facts);
  }

  #path(index: number): string {
    if (index === this.root) return ROOT_PATH;
    return joinPath(this.#path(this.#at(index, COLUMN.parent)), this.name(index));
  }

  /** The folder of an entry, and its name there. Consecutive entries mostly share the folder. */
  #find(index: number): readonly [folder: Folder, name: string] {
    const folder = this.#enter(this.#at(index, COLUMN.parent));
    return [folder, index === this.root ? ROOT_PATH : this.name(index)];
  }

  /** Opens a folder. The result is valid until the next call. */
  #enter(index: number): Folder {
    if (this.#open?.index !== index) {
      this.#open?.folder.close();
      this.#open = { index, folder: this.#base.openBelow(this.#path(index)) };
    }
    return this.#open.folder;
  }

  #list(index: number): void {
    const from = this.#count;
    const path = this.#landed.isEmpty ? ROOT_PATH : this.#path(index);
    if (!this.#landed.isGone(path)) this.#listBase(index, path);
    for (const entry of this.#landed.entriesIn(path)) this.#addLanded(entry, index);
    this.#rows[index * COLUMNS + COLUMN.from] = from;
    this.#rows[index * COLUMNS + COLUMN.to] = this.#count;
  }

  #listBase(index: number, path: string): void {
    const folder = this.#enter(index);
    const landed = this.#landed.isEmpty ? undefined : this.#landed;
    readNameBytes(folder, (bytes, start, end, pointer) => {
      // The base also holds the workspaces that were in the original.
      if (index === this.root && OWN_NAME.test(nameFrom(bytes, start, end))) return;
      if (landed?.isOverridden(joinPath(path, nameFrom(bytes, start, end))) === true) return;
      const ino = listedInode(bytes, start);
      this.#add(bytes, start, end, [ino, isListedFolder(bytes, start) ? 1 : 0, index]);
      const isWanted = this.#touched === undefined || this.#touched.has(ino);
      if (isWanted && statListed(folder, pointer)) this.#keepStat(lastStat);
    });
  }

  #addLanded(entry: CopiedEntry, parent: number): void {
    const { path, original, copy } = entry;
    const name = bytesFromPath(baseName(path));
    const index = this.#count;
    this.#add(name, 0, name.length, [copy.ino, original.kind === "directory" ? 1 : 0, parent]);
    this.#keepStat(statOf({ ...copy, size: original.size, mtime: original.mtime }));
    this.#landedEntries.set(index, entry);
  }

  #add(
    bytes: Buffer,
    start: number,
    end: number,
    [ino, isFolder, parent]: readonly [ino: number, isFolder: number, parent: number],
  ): void {
    this.#grow(end - start);
    this.#rows.set([ino, isFolder, this.#nameBytes, end - start, parent], this.#count * COLUMNS);
    bytes.copy(this.#names, this.#nameBytes, start, end);
    this.#nameBytes += end - start;
    this.#count += 1;
  }

  /** Stores the stat of the last added entry. */
  #keepStat({ mode, size, ctime, ctimeNs, mtime, mtimeNs }: StatView): void {
    const at = (this.#count - 1) * COLUMNS + COLUMN.mode;
    this.#rows.set([mode, size, ctime, ctimeNs, mtime, mtimeNs], at);
  }

  #grow(nameLength: number): void {
    if ((this.#count + 1) * COLUMNS > this.#rows.length) {
      const rows = new Float64Array(this.#rows.length * 2);
      rows.set(this.#rows);
      this.#rows = rows;
    }
    if (this.#nameBytes + nameLength > this.#names.length)
      this.#names = Buffer.concat([this.#names, Buffer.allocUnsafe(this.#names.length)]);
  }

  #at(index: number, column: number): number {
    return this.#rows[index * COLUMNS + column] as number;
  }
}
