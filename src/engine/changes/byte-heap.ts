import { UnsupportedError } from "../../core/errors/errors.ts";

const CHUNK_BITS = 14;
const CHUNK_BYTES = 1 << CHUNK_BITS;
const MOST_CHUNKS = 2 ** (32 - CHUNK_BITS);

/**
 * Bytes that are added and never removed, in chunks, so that nothing is copied when it grows. A position is a
 * number of 32 bits.
 */
export class ByteHeap {
  readonly #chunks: Buffer[] = [];
  #used = CHUNK_BYTES;

  /** Copies these bytes here and returns their position. */
  add(bytes: Uint8Array): number {
    if (this.#used + bytes.length > CHUNK_BYTES) this.#addChunk(bytes.length);
    const chunk = this.#chunks.length - 1;
    (this.#chunks[chunk] as Buffer).set(bytes, this.#used);
    const position = chunk * CHUNK_BYTES + this.#used;
    this.#used += bytes.length;
    return position;
  }

  /** The chunk that holds this position; `offsetOf` says where in it. */
  chunk(position: number): Buffer {
    return this.#chunks[position >>> CHUNK_BITS] as Buffer;
  }

  /** What is longer than a chunk gets a longer one, in which nothing follows it. */
  #addChunk(bytes: number): void {
    /* c8 ignore next 4 -- the facts of about forty million changes */
    if (this.#chunks.length === MOST_CHUNKS)
      throw new UnsupportedError("There are too many changes to compare them at once.", {
        hint: "Make plans of parts of the folder.",
      });
    this.#chunks.push(Buffer.allocUnsafeSlow(Math.max(bytes, CHUNK_BYTES)));
    this.#used = 0;
  }
}

export function offsetOf(position: number): number {
  return position & (CHUNK_BYTES - 1);
}
