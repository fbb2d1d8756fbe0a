import { pathFromBytes } from "../../core/paths/byte-path.ts";
import type { AttachmentEvents } from "./attachment.ts";
import type { OutputPart, OutputPlace } from "./detached-protocol.ts";
import type { EndedOutput } from "./kept-output.ts";

/** A part of what a detached command wrote to its terminal. */
export interface DetachedOutput {
  readonly bytes: Uint8Array;
  /** The same as text. A byte that is not UTF-8 is a lone surrogate, as in paths. */
  readonly text: string;
  /** Where in all of its output this begins. */
  readonly from: number;
  /** Where the output behind this begins. */
  readonly next: number;
  /** How many bytes before this were asked for and are not kept any more. */
  readonly omitted: number;
  /**
   * All that is left is the excerpt that the history has, whatever part was asked for: the beginning and the
   * end, with a line between that says what is missing. The plan is over, or has had a later such command.
   */
  readonly isExcerpt?: true;
}

/** Reads a part of the output of a command that runs. */
export class OutputReading implements AttachmentEvents {
  readonly #part: OutputPart;
  readonly #pieces: Buffer[] = [];
  readonly #done = Promise.withResolvers<void>();
  #place: OutputPlace | undefined;
  #length = 0;

  constructor(part: OutputPart) {
    this.#part = part;
  }

  /** Resolves when all is there that was written until it was asked for. */
  get done(): Promise<void> {
    return this.#done.promise;
  }

  at(place: OutputPlace): void {
    // What comes after the part that was asked for is for the next reading.
    if (this.#isDone) return;
    this.#pieces.length = 0;
    this.#length = 0;
    this.#place = place;
    if (this.#isDone) this.#done.resolve();
  }

  output(bytes: Buffer): void {
    if (this.#isDone) return;
    this.#pieces.push(bytes);
    this.#length += bytes.length;
    if (this.#isDone) this.#done.resolve();
  }

  /** The part; undefined if the command was lost before it was there. */
  result(): DetachedOutput | undefined {
    if (this.#place === undefined || !this.#isDone) return undefined;
    return outputAt(this.#place.from, Buffer.concat(this.#pieces), this.#part);
  }

  get #isDone(): boolean {
    return this.#place !== undefined && this.#place.from + this.#length >= this.#place.total;
  }
}

/** A part of the output of a command that has ended. */
export function partOf({ bytes, total }: EndedOutput, part: OutputPart): DetachedOutput {
  const wanted = "from" in part ? Math.min(part.from, total) : Math.max(0, total - part.last);
  const from = Math.max(wanted, total - bytes.length);
  return outputAt(from, bytes.subarray(bytes.length - (total - from)), part);
}

/** What the history has of the output. */
export function excerptOf(text: string): DetachedOutput {
  const bytes = Buffer.from(text);
  return { bytes, text, from: 0, next: bytes.length, omitted: 0, isExcerpt: true };
}

function outputAt(from: number, bytes: Buffer, part: OutputPart): DetachedOutput {
  const next = from + bytes.length;
  const wanted = "from" in part ? part.from : next - part.last;
  const omitted = Math.max(0, from - Math.max(0, wanted));
  return {
    ...{ bytes, from, next, omitted },
    get text() {
      return pathFromBytes(bytes);
    },
  };
}
