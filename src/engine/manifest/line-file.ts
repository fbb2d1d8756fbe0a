import { createHash } from "node:crypto";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { pieces, readTail, writeBytes } from "../../system/data/file-data.ts";
import { flushFile } from "../../system/data/whole-file.ts";
import type { Failpoint } from "../../system/failpoints.ts";

/**
 * A file of ours that may be too long for memory: each line is a JSON array whose first item is a letter, the
 * line's kind. It is written and read as a stream, and lines of other kinds are skipped without parsing.
 */
export type Line = readonly [kind: string, ...rest: readonly unknown[]];

const WRITTEN_AT_ONCE = 64 * 1024;
/** Of a character in UTF-8, at most. */
const BYTES_EACH = 3;
/** `["k"` */
const KIND_AT = 2;

export class LineWriter implements Disposable {
  readonly #point: Failpoint;
  readonly #fd: number;
  readonly #label: string;
  readonly #hash = createHash("sha256");
  readonly #waiting = Buffer.allocUnsafe(WRITTEN_AT_ONCE);
  #length = 0;

  constructor(point: Failpoint, folder: Folder, name: string) {
    this.#point = point;
    this.#label = folder.label(name);
    this.#fd = folder.createFile(point, name, 0o600);
  }

  add(line: Line): void {
    const text = `${JSON.stringify(line)}\n`;
    const most = text.length * BYTES_EACH;
    if (this.#length + most > WRITTEN_AT_ONCE) this.#writeWaiting();
    if (most > WRITTEN_AT_ONCE) this.#write(Buffer.from(text));
    else this.#length += this.#waiting.write(text, this.#length);
  }

  /** Writes the rest, and returns the digest of the file. */
  end(): string {
    this.#writeWaiting();
    return this.#hash.digest("hex");
  }

  /** Flushes the file to disk. */
  flush(point: Failpoint): void {
    flushFile(point, this.#fd);
  }

  [Symbol.dispose](): void {
    closeFile(this.#fd);
  }

  #writeWaiting(): void {
    this.#write(this.#waiting.subarray(0, this.#length));
    this.#length = 0;
  }

  #write(bytes: Buffer): void {
    this.#hash.update(bytes);
    writeBytes(this.#point, this.#fd, bytes, this.#label);
  }
}

export class LineFile {
  readonly #folder: Folder;
  readonly #name: string;

  constructor(folder: Folder, name: string) {
    this.#folder = folder;
    this.#name = name;
  }

  /** The lines of these kinds, in the order in which they were written. */
  *lines(kinds: string): Generator<Line> {
    for (const text of this.#texts(kinds)) yield JSON.parse(text) as Line;
  }

  /** The lines of these kinds, from the last to the first. */
  *linesBackward(kinds: string): Generator<Line> {
    for (const text of [...this.#texts(kinds)].reverse()) yield JSON.parse(text) as Line;
  }

  digest(): string {
    const hash = createHash("sha256");
    for (const piece of this.#pieces()) hash.update(piece);
    return hash.digest("hex");
  }

  /** Whether this is the last line. */
  endsWith(line: Line): boolean {
    const wanted = Buffer.from(`${JSON.stringify(line)}\n`);
    return this.#whileOpen((fd, label) => readTail(fd, wanted.length, label).equals(wanted));
  }

  *#texts(kinds: string): Generator<string> {
    for (const text of this.#wholeLines()) {
      for (let start = 0; start < text.length; ) {
        const end = text.indexOf("\n", start);
        if (kinds.includes(text.charAt(start + KIND_AT))) yield text.slice(start, end);
        start = end + 1;
      }
    }
  }

  /** Yields the complete lines of each piece. */
  *#wholeLines(): Generator<string> {
    let rest: Buffer = Buffer.alloc(0);
    for (const piece of this.#pieces()) {
      const end = piece.lastIndexOf("\n") + 1;
      const text = end === 0 ? "" : Buffer.concat([rest, piece.subarray(0, end)]).toString();
      rest = end === 0 ? Buffer.concat([rest, piece]) : Buffer.from(piece.subarray(end));
      yield text;
    }
  }

  /** Each piece is valid until the next. */
  *#pieces(): Generator<Buffer> {
    const fd = this.#folder.openFile(this.#name);
    try {
      yield* pieces(fd, this.#folder.label(this.#name));
    } finally {
      closeFile(fd);
    }
  }

  #whileOpen<T>(action: (fd: number, label: string) => T): T {
    const fd = this.#folder.openFile(this.#name);
    try {
      return action(fd, this.#folder.label(this.#name));
    } finally {
      closeFile(fd);
    }
  }
}
