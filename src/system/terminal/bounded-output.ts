import { pathFromBytes } from "../../core/paths/byte-path.ts";
import { LastBytes } from "./last-bytes.ts";

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
export class BoundedOutput {
  readonly #most: number;
  readonly #first: Buffer[] = [];
  #firstLength = 0;
  readonly #last: LastBytes;

  constructor(most: number) {
    this.#most = most;
    this.#last = new LastBytes(most);
  }

  add(bytes: Buffer): void {
    const room = this.#most - this.#firstLength;
    const [first, rest] = [bytes.subarray(0, room), bytes.subarray(room)];
    if (first.length > 0) this.#first.push(first);
    this.#firstLength += first.length;
    if (rest.length > 0) this.#last.add(rest);
  }

  output(): CapturedOutput {
    const first = Buffer.concat(this.#first);
    const total = this.#firstLength + this.#last.total;
    if (total <= this.#most) return outputOf(first, 0);
    const all = Buffer.concat([first, this.#last.bytes()]);
    const half = Math.floor(this.#most / 2);
    const head = first.subarray(0, startOfCharacter(first, half));
    const tail = all.subarray(endOfCharacter(all, all.length - half));
    const omitted = total - head.length - tail.length;
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
