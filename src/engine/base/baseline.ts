import { StateError } from "../../core/errors/errors.ts";
import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type Facts, type Identity, kindOf, type Time } from "../../system/calls/facts.ts";
import { nameFrom } from "../../system/calls/listing.ts";
import type { Xattrs } from "../../system/calls/xattrs.ts";
import type { CopiedEntry } from "../tree/copy-tree.ts";
import { type BaseFacts, NO_TIME } from "./base-facts.ts";
import {
  aligned,
  bytesOf,
  F,
  F_COLUMNS,
  NO_BLOCK,
  U,
  U_COLUMNS,
  writeCopy,
  writeOriginal,
} from "./baseline-columns.ts";
import { isSameStat, type StatView } from "./stat-view.ts";

/**
 * The baseline of a copied tree: for each entry, the facts of the original when it was copied, and the facts
 * of the finished copy. An entry of the copy whose inode, times, size and mode equal the baseline's was not
 * touched, so a diff reads nothing of it.
 *
 * Format of the file, little-endian:
 *   8 bytes   magic "DRYBASE2"
 *   u32 ×4    entries, bytes of names, bytes of extras, blocks
 *   f64 ×8×n  F in baseline-columns.ts
 *   u32 ×15×n U in baseline-columns.ts
 *   u32 ×2×b  each block: first entry, number of entries
 *   names     the last component of each path, one after the other
 *   extras    JSON: { index: { xattrs?, target?, rdev? } } for the few entries that have any
 * The entries of one folder form a block, in the order of copying. The last block holds only the root.
 */
const MAGIC = "DRYBASE2";
/** The earlier format, without the birth times of copies. */
const EARLIER_MAGIC = "DRYBASE1";
const HEADER = 8 + 16;

/** The facts of the copy. `mode`, `uid` and `gid` differ from the original's only without privilege. */
export interface CopyFacts extends Identity {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

/** The fields that only a few entries have. */
export interface Extras {
  readonly xattrs?: Xattrs;
  readonly target?: string;
  readonly rdev?: string;
}

/** The contents of the file of a baseline. */
export interface BaselineParts {
  readonly floats: Float64Array;
  readonly words: Uint32Array;
  readonly blocks: Uint32Array;
  readonly names: Buffer;
  readonly extras: { readonly [index: string]: Extras };
}

type Numbers = [number, number, number, number];
type Parts = [Buffer, Buffer, Buffer, Buffer, Buffer];

const NO_XATTRS: Xattrs = Object.freeze({});

/** A loaded baseline. An index names an entry, a block the contents of a folder. */
export class Baseline {
  readonly #floats: Float64Array;
  readonly #words: Uint32Array;
  readonly #blocks: Uint32Array;
  readonly #names: Buffer;
  readonly #extras: { readonly [index: string]: Extras };
  readonly #tables = new Map<number, Map<string, number>>();

  constructor({ floats, words, blocks, names, extras }: BaselineParts) {
    this.#floats = floats;
    this.#words = words;
    this.#blocks = blocks;
    this.#names = names;
    this.#extras = extras;
  }

  /** The index of the root, or of the single file that is the resource. */
  get root(): number {
    return this.count - 1;
  }

  get count(): number {
    return this.#words.length / U_COLUMNS;
  }

  name(index: number): string {
    const start = this.#u(index, U.nameAt);
    return nameFrom(this.#names, start, start + this.#u(index, U.nameLength));
  }

  /** Whether the entry's name equals the bytes from `start` to `end`. */
  isNamed(index: number, bytes: Buffer, start: number, end: number): boolean {
    const length = end - start;
    if (this.#u(index, U.nameLength) !== length) return false;
    const names = this.#names;
    const from = this.#u(index, U.nameAt);
    for (let at = 0; at < length; at += 1) if (names[from + at] !== bytes[start + at]) return false;
    return true;
  }

  /** The first index of the folder's contents, and one past the last. */
  children(index: number): readonly [from: number, to: number] {
    const block = this.#u(index, U.block);
    if (block === NO_BLOCK) return [0, 0];
    const from = this.#blocks[block * 2] as number;
    return [from, from + (this.#blocks[block * 2 + 1] as number)];
  }

  isFolder(index: number): boolean {
    return this.#u(index, U.block) !== NO_BLOCK;
  }

  /** Whether an entry of the copy with this stat is the one that the copy made, untouched since. */
  isUntouched(index: number, stat: StatView): boolean {
    return isSameStat(this.#copyStat(index), stat);
  }

  #copyStat(index: number): StatView {
    return {
      ino: this.#f(index, F.copyIno),
      mode: this.#u(index, U.copyMode),
      size: this.#f(index, F.size),
      ctime: this.#f(index, F.copyCtime),
      ctimeNs: this.#u(index, U.copyCtimeNs),
      mtime: this.#f(index, F.mtime),
      mtimeNs: this.#u(index, U.mtimeNs),
    };
  }

  copy(index: number): CopyFacts {
    return {
      ino: this.#f(index, F.copyIno),
      btime: [this.#f(index, F.copyBtime), this.#u(index, U.copyBtimeNs)],
      mode: this.#u(index, U.copyMode) & 0o7777,
      uid: this.#u(index, U.copyUid),
      gid: this.#u(index, U.copyGid),
    };
  }

  facts(index: number): BaseFacts {
    const mode = this.#u(index, U.mode);
    const extras = this.#extras[index];
    return {
      kind: kindOf(mode),
      mode: mode & 0o7777,
      uid: this.#u(index, U.uid),
      gid: this.#u(index, U.gid),
      size: this.#f(index, F.size),
      nlink: this.#u(index, U.nlink),
      ino: this.#f(index, F.ino),
      btime: [this.#f(index, F.btime), this.#u(index, U.btimeNs)],
      mtime: [this.#f(index, F.mtime), this.#u(index, U.mtimeNs)],
      ctime: [this.#f(index, F.ctime), this.#u(index, U.ctimeNs)],
      xattrs: extras?.xattrs ?? NO_XATTRS,
      ...(extras?.target !== undefined && { target: extras.target }),
      ...(extras?.rdev !== undefined && { rdev: extras.rdev }),
    };
  }

  /** The entry as it was recorded; fields that the baseline does not store get placeholder values. */
  entry(index: number, path: string): CopiedEntry {
    const { xattrs, target, rdev = "0:0", ctime = NO_TIME, ...base } = this.facts(index);
    const original = { ...base, ctime, rdev, atime: base.mtime, mountId: 0, device: "", locked: false };
    const copyCtime: Time = [this.#f(index, F.copyCtime), this.#u(index, U.copyCtimeNs)];
    const kind = kindOf(this.#u(index, U.copyMode));
    const copy = { ...original, ...this.copy(index), kind, ctime: copyCtime };
    return { path, original, copy, xattrs, ...(target !== undefined && { target }) };
  }

  /** The index of the entry at this path, or undefined if the original had none. */
  find(path: string): number | undefined {
    let index: number | undefined = this.root;
    if (path === ROOT_PATH) return index;
    for (let from = 0; from <= path.length && index !== undefined; ) {
      const slash = path.indexOf("/", from);
      const end = slash < 0 ? path.length : slash;
      index = this.#table(index).get(path.slice(from, end));
      from = end + 1;
    }
    return index;
  }

  /** Records another, untouched copy of this entry. */
  setCopy(index: number, copy: Facts): void {
    writeCopy(this.#floats, this.#words, index, copy);
  }

  /** Records another original of this entry. */
  setOriginal(index: number, original: Facts): void {
    writeOriginal(this.#floats, this.#words, index, original);
  }

  toBytes(): Buffer {
    const extras = Buffer.from(JSON.stringify(this.#extras));
    const header = Buffer.alloc(HEADER);
    header.write(MAGIC, "latin1");
    [this.count, this.#names.length, extras.length, this.#blocks.length / 2].forEach((value, at) => {
      header.writeUInt32LE(value, 8 + at * 4);
    });
    return Buffer.concat([
      header,
      bytesOf(this.#floats),
      bytesOf(this.#words),
      bytesOf(this.#blocks),
      this.#names,
      extras,
    ]);
  }

  static fromBytes(bytes: Buffer, label: string): Baseline {
    if (bytes.toString("latin1", 0, 8) === EARLIER_MAGIC) throw tooOld(label);
    if (bytes.length < HEADER || bytes.toString("latin1", 0, 8) !== MAGIC) throw damaged(label);
    const [count, nameBytes, extraBytes, blocks] = [8, 12, 16, 20].map((at) =>
      bytes.readUInt32LE(at),
    ) as Numbers;
    const sizes = [count * F_COLUMNS * 8, count * U_COLUMNS * 4, blocks * 8, nameBytes, extraBytes];
    if (bytes.length !== HEADER + sizes.reduce((sum, size) => sum + size, 0)) throw damaged(label);
    let at = HEADER;
    const [floats, words, blockWords, names, extras] = sizes.map((size) => {
      at += size;
      return bytes.subarray(at - size, at);
    }) as Parts;
    return new Baseline({
      floats: new Float64Array(...aligned(floats, 8)),
      words: new Uint32Array(...aligned(words, 4)),
      blocks: new Uint32Array(...aligned(blockWords, 4)),
      names,
      extras: parseExtras(extras, label),
    });
  }

  /** Built on first use: a caller that looks up one path of a folder looks up more. */
  #table(folder: number): ReadonlyMap<string, number> {
    let table = this.#tables.get(folder);
    if (table === undefined) {
      table = new Map();
      const [from, to] = this.children(folder);
      for (let at = from; at < to; at += 1) table.set(this.name(at), at);
      this.#tables.set(folder, table);
    }
    return table;
  }

  #f(index: number, column: number): number {
    return this.#floats[index * F_COLUMNS + column] as number;
  }

  #u(index: number, column: number): number {
    return this.#words[index * U_COLUMNS + column] as number;
  }
}

function parseExtras(bytes: Buffer, label: string): { [index: string]: Extras } {
  try {
    return JSON.parse(bytes.toString()) as { [index: string]: Extras };
  } catch (thrown) {
    throw damaged(label, thrown);
  }
}

function tooOld(label: string): StateError {
  return new StateError(`The baseline ${label} of a sandbox is of an earlier version of Drydock.`, {
    hint: "Apply the plan with that version, or take what you need from the sandbox and cancel the plan.",
  });
}

function damaged(label: string, cause?: unknown): StateError {
  return new StateError(`The baseline ${label} of a sandbox is damaged.`, {
    cause,
    hint: "The sandbox can't be compared with its original any more: take what you need from it and cancel the plan.",
  });
}
