import { createHash, hash } from "node:crypto";

/**
 * A SHA-256 digest of the content of a file, in hex, at the cost of its data. A file may contain a hole of a
 * terabyte, which would take an hour to hash. So each whole block of zeros, from one multiple of 1 MiB to the
 * next, is counted instead of hashed, whether it is a hole or was written. Equal content has an equal digest,
 * wherever its holes are. A file without such a block has the digest of `sha256sum`.
 *
 * With such blocks the digest begins with `zeros:`, followed by the SHA-256 of
 * 1. all other bytes;
 * 2. for each run of zero blocks, the number of the first block and the count of blocks, as 64-bit numbers;
 * 3. the count of runs, as a 64-bit number.
 *
 * Read from its end, this determines the content, so no other content hashes the same bytes.
 */
const BLOCK = 1024 * 1024;
const ZEROS = Buffer.alloc(BLOCK);

export class ContentDigest {
  readonly #hash = createHash("sha256");
  /** Runs of zero blocks. */
  readonly #runs: [first: number, count: number][] = [];
  #at = 0;
  /** The number of zeros in the current block; undefined once it has another byte. */
  #zeros: number | undefined = 0;

  /** Adds the bytes at an offset, which is after all bytes added before. Gaps are zeros. */
  add(bytes: Uint8Array, at: number): void {
    this.#addZeros(at - this.#at);
    this.#add(bytes);
  }

  /** The digest of a content of this size. Nothing can be added afterwards. */
  end(size: number): string {
    this.#addZeros(size - this.#at);
    this.#hash.update(ZEROS.subarray(0, this.#zeros ?? 0));
    if (this.#runs.length === 0) return this.#hash.digest("hex");
    const numbers = [...this.#runs.flat(), this.#runs.length].map(BigInt);
    this.#hash.update(Buffer.from(BigUint64Array.from(numbers).buffer));
    return `zeros:${this.#hash.digest("hex")}`;
  }

  #add(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const part = bytes.subarray(from, from + Math.min(this.#leftInBlock(), bytes.length - from));
      if (this.#zeros !== undefined && ZEROS.compare(part, 0, part.length, 0, part.length) === 0)
        this.#zeros += part.length;
      else this.#hashBytes(part);
      this.#advance(part.length);
      from += part.length;
    }
  }

  #addZeros(count: number): void {
    for (let left = count; left > 0; ) {
      if (this.#zeros === 0 && left >= BLOCK) {
        const blocks = Math.floor(left / BLOCK);
        this.#fold(this.#at / BLOCK, blocks);
        this.#at += blocks * BLOCK;
        left -= blocks * BLOCK;
      } else {
        const part = Math.min(left, this.#leftInBlock());
        this.#add(ZEROS.subarray(0, part));
        left -= part;
      }
    }
  }

  #leftInBlock(): number {
    return BLOCK - (this.#at % BLOCK);
  }

  #hashBytes(bytes: Uint8Array): void {
    if (this.#zeros !== undefined && this.#zeros > 0) this.#hash.update(ZEROS.subarray(0, this.#zeros));
    this.#zeros = undefined;
    this.#hash.update(bytes);
  }

  #advance(count: number): void {
    this.#at += count;
    if (this.#at % BLOCK !== 0) return;
    if (this.#zeros === BLOCK) this.#fold(this.#at / BLOCK - 1, 1);
    this.#zeros = 0;
  }

  /** Counts a run of zero blocks. */
  #fold(first: number, count: number): void {
    const last = this.#runs.at(-1);
    if (last !== undefined && last[0] + last[1] === first) last[1] += count;
    else this.#runs.push([first, count]);
  }
}

/**
 * The digest of content in memory. Content shorter than a block is hashed in one call: a `Hash`
 * object lives until the next full collection.
 */
export function digestOfContent(bytes: Uint8Array): string {
  if (bytes.length < BLOCK) return hash("sha256", bytes, "hex");
  const digest = new ContentDigest();
  digest.add(bytes, 0);
  return digest.end(bytes.length);
}
