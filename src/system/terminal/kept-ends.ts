import { pathFromBytes } from "../../core/paths/byte-path.ts";

/** The output of a command: exactly what it wrote, unless it is truncated. */
export interface CapturedOutput {
  /** With a line in the middle, if it is truncated, that says how many bytes are missing there. */
  readonly bytes: Uint8Array;
  /** The same as text. A byte that is not UTF-8 is a lone surrogate, as in paths. */
  readonly text: string;
  /** How many bytes were left out. */
  readonly omitted: number;
}

/** The most bytes of a command's output that the history of its plan keeps. */
export const MOST_LOGGED = 16 * 1024;

/** Keeps at most this many bytes of what a command writes: the first half, and the last one. */
export class KeptEnds {
  readonly #most: number;
  readonly #first: Buffer[] = [];
  #firstLength = 0;
  #last: Buffer[] = [];
  #lastLength = 0;
  #total = 0;

  constructor(most: number) {
    this.#most = most;
  }

  add(bytes: Buffer): void {
    this.#total += bytes.length;
    const room = this.#most - this.#firstLength;
    const [first, rest] = [bytes.subarray(0, room), bytes.subarray(room)];
    if (first.length > 0) this.#first.push(first);
    this.#firstLength += first.length;
    if (rest.length === 0) return;
    // A piece that is long enough takes the place of all before it, without copies of them.
    if (rest.length >= this.#most) {
      this.#last = [];
      this.#lastLength = 0;
    }
    this.#last.push(rest);
    this.#lastLength += rest.length;
    // Joined now and then, not at every piece: many small pieces must not take much time.
    if (this.#lastLength > 2 * this.#most + rest.length) this.#trim();
  }

  #trim(): void {
    const joined = Buffer.concat(this.#last);
    this.#last = [Buffer.from(joined.subarray(Math.max(0, joined.length - this.#most)))];
    this.#lastLength = this.#last[0]?.length ?? 0;
  }

  output(): CapturedOutput {
    const first = Buffer.concat(this.#first);
    if (this.#total <= this.#most) return outputOf(first, 0);
    const all = Buffer.concat([first, ...this.#last]);
    const half = Math.floor(this.#most / 2);
    const head = first.subarray(0, startOfCharacter(first, half));
    const tail = all.subarray(endOfCharacter(all, all.length - half));
    const omitted = this.#total - head.length - tail.length;
    const mark = Buffer.from(`\n[… ${omitted} bytes left out …]\n`);
    return outputOf(Buffer.concat([head, mark, tail]), omitted);
  }
}

function outputOf(bytes: Buffer, omitted: number): CapturedOutput {
  return {
    bytes,
    get text() {
      return pathFromBytes(bytes);
    },
    omitted,
  };
}

/** The longest character in UTF-8 has four bytes. */
const LONGEST_CHARACTER = 4;

/** Moves a cut back to the start of a character, if it is inside one. */
function startOfCharacter(bytes: Buffer, cut: number): number {
  let at = cut;
  while (at > Math.max(0, cut - LONGEST_CHARACTER) && isInside(bytes[at])) at -= 1;
  return isInside(bytes[at]) ? cut : at;
}

/** Moves a cut forward to the end of a character, if it is inside one. */
function endOfCharacter(bytes: Buffer, cut: number): number {
  let at = cut;
  while (at < Math.min(bytes.length, cut + LONGEST_CHARACTER) && isInside(bytes[at])) at += 1;
  return isInside(bytes[at]) ? cut : at;
}

function isInside(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80;
}
