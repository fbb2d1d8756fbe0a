import { StateError, UsageError } from "../../core/errors/errors.ts";
import type { WindowSize } from "../../system/terminal/program-streams.ts";

/**
 * What a detached command and those who are attached to it say to each other.
 *
 * The process that keeps the command listens at `runs/PLAN/terminal.sock` in the state directory, which only
 * this user can reach, and which goes with the plan. Both sides send frames: a letter for what it is, the
 * length of the rest as four bytes, the rest.
 *
 * A client begins with `hello`. It names the command by its id, and has the key of the plan's terminal
 * (terminal-key.ts). Then it gets what is said to users so far, the output that is kept, and from there on
 * everything. The last frame is `end`. It can send `keys` and `size`, or `stop`, which ends the command. A
 * `flush` is answered by `flushed`, once the command's terminal has taken all that was sent before.
 *
 * Output that is no longer kept is told by a line in the output. A program that asks for a part of it hears
 * by `at` where in all output the next frame begins, before the first one and whenever it missed something.
 */
const LETTERS = {
  ...{ hello: 72, keys: 75, size: 83, stop: 88, flush: 70 },
  ...{ output: 79, at: 65, notice: 78, flushed: 68, end: 69 },
} as const;

export type FrameKind = keyof typeof LETTERS;

export interface Frame {
  readonly kind: FrameKind;
  readonly bytes: Buffer;
}

export interface Hello {
  /** That of the plan's terminal. */
  readonly key: string;
  /** The id of the command. */
  readonly exec: string;
  /** That of the client's terminal, if it has one. */
  readonly size?: WindowSize;
  /** For a program: the output that it begins with. */
  readonly part?: OutputPart;
}

/** A part of all that a command writes: from this byte on, or the last bytes of what there is. */
export type OutputPart = { readonly from: number } | { readonly last: number };

/** Where the output that comes next begins, and how much there is in all so far. */
export interface OutputPlace {
  readonly from: number;
  readonly total: number;
}

/** How a detached command ended, with all that came after it. */
export interface DetachedEnd {
  /** As `run` and `plan exec` would have ended. */
  readonly exitCode: number;
}

/** What a `hello` says. Throws if the other side does not speak this protocol. */
export function helloFrom(bytes: Buffer): Hello {
  const { key, exec, size, part } = membersOf(JSON.parse(bytes.toString()));
  if (typeof key !== "string" || typeof exec !== "string") throw noMessage();
  return {
    ...{ key, exec },
    ...(size !== undefined && { size: sizeOf(size) }),
    ...(part !== undefined && { part: partOf(part) }),
  };
}

/** The same for a `size`. */
export function sizeFrom(bytes: Buffer): WindowSize {
  return sizeOf(JSON.parse(bytes.toString()));
}

function sizeOf(said: unknown): WindowSize {
  const { rows, columns } = membersOf(said);
  if (!isSide(rows) || !isSide(columns)) throw noMessage();
  return { rows, columns };
}

/** Refuses a size that no terminal can have. */
export function assertSize({ rows, columns }: WindowSize): void {
  if (isSide(rows) && isSide(columns)) return;
  throw new UsageError(`No terminal has ${rows} rows and ${columns} columns.`, {
    hint: "Give whole numbers from 1 to 65535.",
    code: "BAD_ARGUMENT",
  });
}

/** The part that a program names, by its beginning or by its length. Default: everything. */
export function partNamed({ from, last }: { readonly from?: number; readonly last?: number }): OutputPart {
  const part = last === undefined ? { from: from ?? 0 } : { last };
  const isOne = from === undefined || last === undefined;
  if (isOne && isCount("from" in part ? part.from : part.last)) return part;
  throw new UsageError("This names no part of an output.", {
    hint: "Give `from`, the number of a byte, or `last`, how many bytes; a whole number from 0.",
    code: "BAD_ARGUMENT",
  });
}

function partOf(said: unknown): OutputPart {
  const { from, last } = membersOf(said);
  if (isCount(from) && last === undefined) return { from };
  if (isCount(last) && from === undefined) return { last };
  throw noMessage();
}

function isCount(said: unknown): said is number {
  return Number.isSafeInteger(said) && Number(said) >= 0;
}

function isSide(said: unknown): said is number {
  return Number.isInteger(said) && Number(said) > 0 && Number(said) < 65_536;
}

function membersOf(said: unknown): { readonly [name: string]: unknown } {
  if (typeof said !== "object" || said === null) throw noMessage();
  return { ...said };
}

function noMessage(): StateError {
  return new StateError("The other side of the terminal sent what is no message.", {
    hint: "Attach with the version of Drydock that started the command.",
  });
}

const HEAD = 5;
/** No side sends longer ones. */
const LONGEST = 1024 * 1024;

export function frame(kind: FrameKind, content: Uint8Array | string | object): Buffer {
  const bytes =
    content instanceof Uint8Array
      ? content
      : Buffer.from(typeof content === "string" ? content : JSON.stringify(content));
  const head = Buffer.alloc(HEAD);
  head[0] = LETTERS[kind];
  head.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([head, bytes]);
}

/** Bytes of any number as frames of one kind. */
export function* framesOf(kind: FrameKind, bytes: Buffer): Generator<Buffer> {
  for (let from = 0; from < bytes.length; from += LONGEST)
    yield frame(kind, bytes.subarray(from, from + LONGEST));
}

/** Puts frames together from what a socket brings. */
export class FrameReader {
  #rest: Buffer = Buffer.alloc(0);

  /** Throws if the other side does not speak this protocol. */
  *take(bytes: Buffer): Generator<Frame> {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    while (this.#rest.length >= HEAD) {
      const length = this.#rest.readUInt32BE(1);
      const [kind] = Object.entries(LETTERS).find(([, letter]) => letter === this.#rest[0]) ?? [];
      if (kind === undefined || length > LONGEST) throw noMessage();
      if (this.#rest.length < HEAD + length) return;
      const content = this.#rest.subarray(HEAD, HEAD + length);
      this.#rest = this.#rest.subarray(HEAD + length);
      yield { kind: kind as FrameKind, bytes: content };
    }
  }
}
