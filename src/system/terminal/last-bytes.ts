/** As many pieces are kept before they are joined: small ones take more memory than their bytes. */
const MOST_PIECES = 1024;

/** The last bytes of a stream, at most this many. */
export class LastBytes {
  readonly #most: number;
  #pieces: Buffer[] = [];
  #length = 0;
  #total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** How many bytes there were in all. */
  get total(): number {
    return this.#total;
  }

  add(bytes: Buffer): void {
    this.#total += bytes.length;
    // A piece that is long enough takes the place of all before it, without copies of them.
    if (bytes.length >= this.#most) {
      this.#pieces = [];
      this.#length = 0;
    }
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    // Joined now and then, not at every piece: many small pieces must not take much time.
    if (this.#length > 2 * this.#most + bytes.length || this.#pieces.length > MOST_PIECES) this.#join();
  }

  bytes(): Buffer {
    this.#join();
    return this.#pieces[0] ?? Buffer.alloc(0);
  }

  #join(): void {
    const joined = Buffer.concat(this.#pieces);
    this.#pieces = [Buffer.from(joined.subarray(Math.max(0, joined.length - this.#most)))];
    this.#length = this.#pieces[0]?.length ?? 0;
  }
}
