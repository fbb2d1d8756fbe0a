import { readSync, writeSync } from "node:fs";
import { failedWith } from "../calls/errno.ts";
import { Folder } from "../calls/folder.ts";
import { closeFile } from "../calls/handles.ts";
import { failpoint, passFailpoint } from "../failpoints.ts";

const POINTS = { make: failpoint("rows.make"), write: failpoint("rows.write") };
const LENGTH_BYTES = 4;
const CHUNK_BYTES = 64 * 1024;
const IN_MEMORY = 1024 * 1024;
/** Not /tmp, which often is memory. */
const LARGE_TEMPORARY_FILES = "/var/tmp";
/** Why there may be no file. The rows then stay in memory: a diff must also work on a full disk. */
const NO_FILE = ["ENOSPC", "EDQUOT", "EFBIG", "EROFS", "EACCES", "EPERM", "ENOENT", "ENOTDIR"];
const NO_NAMELESS_FILE = ["EOPNOTSUPP", "EISDIR", "EINVAL"];

/** A chunk in the file. */
interface Stored {
  readonly at: number;
  readonly length: number;
}

/** How far a store has come: the number of its chunks. */
export type RowMark = number;

/**
 * Rows of bytes that are added one after the other and read in that order, as often as needed. There may be
 * millions, so all but the first megabyte are in a file without a name, which nothing can find and which the
 * kernel frees when this process ends, or when no object refers to the store any more.
 */
export class RowStore implements Disposable {
  readonly #folder: string;
  /** Of whole rows, each after its length. */
  readonly #chunks: (Buffer | Stored)[] = [];
  #tail: Buffer = Buffer.alloc(0);
  #used = 0;
  #inMemory = 0;
  #file: NamelessFile | "none" | undefined;

  constructor(folder = LARGE_TEMPORARY_FILES) {
    this.#folder = folder;
  }

  /** Adds a copy of the row. */
  add(row: Buffer): void {
    const length = LENGTH_BYTES + row.length;
    if (this.#used + length > this.#tail.length) {
      this.mark();
      this.#tail = Buffer.allocUnsafeSlow(Math.max(length, CHUNK_BYTES));
    }
    this.#tail.writeUInt32LE(row.length, this.#used);
    row.copy(this.#tail, this.#used + LENGTH_BYTES);
    this.#used += length;
  }

  /** Ends the chunk: what is added from now on can be read apart from what was added before. */
  mark(): RowMark {
    if (this.#used > 0) this.#keep(this.#tail.subarray(0, this.#used));
    this.#tail = Buffer.alloc(0);
    this.#used = 0;
    return this.#chunks.length;
  }

  /** The rows between two marks. Each stays valid. */
  *rows(from: RowMark = 0, to: RowMark = this.mark()): Generator<Buffer, undefined> {
    for (const chunk of this.#chunks.slice(from, to)) {
      const bytes = Buffer.isBuffer(chunk) ? chunk : this.#read(chunk);
      for (let at = 0; at < bytes.length; ) {
        const start = at + LENGTH_BYTES;
        at = start + bytes.readUInt32LE(at);
        yield bytes.subarray(start, at);
      }
    }
  }

  /** Frees the file before the garbage collector does. */
  [Symbol.dispose](): void {
    if (this.#file instanceof NamelessFile) this.#file.close();
  }

  #read({ at, length }: Stored): Buffer {
    return (this.#file as NamelessFile).read(at, length);
  }

  #keep(chunk: Buffer): void {
    const at = this.#inMemory < IN_MEMORY ? undefined : this.#store(chunk);
    if (at !== undefined) this.#chunks.push({ at, length: chunk.length });
    else {
      this.#chunks.push(chunk);
      this.#inMemory += chunk.length;
    }
  }

  /** Returns where the chunk is in the file, or undefined if there is no file or no room. */
  #store(chunk: Buffer): number | undefined {
    if (this.#file === "none") return undefined;
    try {
      this.#file ??= new NamelessFile(this.#folder);
      return this.#file.append(chunk);
    } catch (thrown) {
      if (!failedWith(thrown, ...NO_FILE, ...NO_NAMELESS_FILE)) throw thrown;
      this.#file ??= "none";
      return undefined;
    }
  }
}

/** Closed at the latest when the garbage collector takes it: no caller says when it is done with it. */
class NamelessFile {
  static readonly #abandoned = new FinalizationRegistry<number>(closeFile);
  readonly #fd: number;
  #length = 0;

  constructor(folder: string) {
    using opened = Folder.open(folder);
    this.#fd = opened.createNameless(POINTS.make);
    NamelessFile.#abandoned.register(this, this.#fd, this);
  }

  append(bytes: Buffer): number {
    const at = this.#length;
    for (let done = 0; done < bytes.length; ) {
      passFailpoint(POINTS.write);
      done += writeSync(this.#fd, bytes, done, bytes.length - done, at + done);
    }
    this.#length += bytes.length;
    return at;
  }

  read(at: number, length: number): Buffer {
    const bytes = Buffer.allocUnsafeSlow(length);
    for (let done = 0; done < length; ) {
      const more = readSync(this.#fd, bytes, done, length - done, at + done);
      if (more === 0) throw new Error("A temporary file of Drydock is shorter than what was written to it.");
      done += more;
    }
    return bytes;
  }

  close(): void {
    NamelessFile.#abandoned.unregister(this);
    closeFile(this.#fd);
  }
}
