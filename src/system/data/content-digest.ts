import { createHash, hash } from "node:crypto";

/**
 * A digest of the content of a file, at the cost of its data: SHA-256, in hex. A file may hold a hole of a
 * terabyte, which would take an hour to hash; so a whole block of zeros, from one multiple of 1 MiB to the
 * next, is counted instead, whether it is a hole or was written. Equal content has an equal digest, whatever
 * of it is holes, and a file without such a block has the digest that `sha256sum` gives.
 *
 * With such blocks the digest begins with `zeros:`, and is over everything else; then, for each run of
 * blocks, the number of its first one and how many they are, and last the number of runs, as 64-bit numbers.
 * Read from its end this says what the content is, so no other content has the same.
 */
const BLOCK = 1024 * 1024;
const ZEROS = Buffer.alloc(BLOCK);

export class ContentDigest {
  readonly #hash = createHash("sha256");
  /** Each a first block and a number of blocks. */
  readonly #runs: [first: number, count: number][] = [];
  #at = 0;
  /** How many bytes of the block that we are in were zeros, as long as all of them were. */
  #zeros: number | undefined = 0;

  /** Takes the bytes at this place, which is behind all that was taken before. What is left out is zeros. */
  add(bytes: Uint8Array, at: number): void {
    this.#addZeros(at - this.#at);
    this.#add(bytes);
  }

  /** The digest of a content of this size; nothing can be added any more. */
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

  /** Counts so many blocks of zeros. */
  #fold(first: number, count: number): void {
    const last = this.#runs.at(-1);
    if (last !== undefined && last[0] + last[1] === first) last[1] += count;
    else this.#runs.push([first, count]);
  }
}

/**
 * The digest of content that is in memory. What holds no whole block is hashed at once: a `Hash` lives until
 * the next full collection.
 */
export function digestOfContent(bytes: Uint8Array): string {
  if (bytes.length < BLOCK) return hash("sha256", bytes, "hex");
  const digest = new ContentDigest();
  digest.add(bytes, 0);
  return digest.end(bytes.length);
}
