import type { Readable } from "node:stream";
import { InterruptedError } from "../core/errors/errors.ts";
import { pathFromBytes } from "../core/paths/byte-path.ts";
import type { ExecResult } from "./exec.ts";
import type { Runs } from "./runs.ts";
import { type SpawnedCommand, type SpawnRequest, spawn } from "./spawn.ts";

/** A command whose output is captured. */
export interface CaptureRequest extends Omit<SpawnRequest, "terminal"> {
  /**
   * Its standard input; a text is written as UTF-8, a stream is read as long as the command runs. Default:
   * nothing.
   */
  readonly input?: string | Uint8Array | Readable;
  /** The most bytes to keep of each output. Default: a MiB. */
  readonly maxOutputBytes?: number;
}

/** How a command ended, and what it wrote. */
export interface CaptureResult extends ExecResult {
  readonly stdout: CapturedOutput;
  readonly stderr: CapturedOutput;
  readonly truncated: { readonly stdout: boolean; readonly stderr: boolean };
}

/** The output of a command: exactly what it wrote, unless it is truncated. */
export interface CapturedOutput {
  /** With a line in the middle, if it is truncated, that says how many bytes are missing there. */
  readonly bytes: Uint8Array;
  /** The same as text. A byte that is not UTF-8 is a lone surrogate, as in paths. */
  readonly text: string;
  /** How many bytes were left out. */
  readonly omitted: number;
}

const MOST_BYTES = 1024 * 1024;

/** Runs a command to its end and captures its output. Fails if its caller aborted it. */
export async function capture(
  runs: Runs,
  plan: string | undefined,
  { input = "", maxOutputBytes = MOST_BYTES, ...request }: CaptureRequest,
): Promise<CaptureResult> {
  const command = await spawn(runs, plan, request);
  const [output, result] = await Promise.all([
    captureOutput(command, { input, maxOutputBytes }),
    command.wait(),
  ]);
  if (result.aborted === true) throw new InterruptedError("The command was ended: its caller aborted it.");
  return { ...result, ...output };
}

/** What a command wrote. */
export type CommandOutput = Pick<CaptureResult, "stdout" | "stderr" | "truncated">;

/** Gives a command its input, and captures what it writes until it ends. */
export async function captureOutput(
  command: SpawnedCommand,
  { input = "", maxOutputBytes = MOST_BYTES }: Pick<CaptureRequest, "input" | "maxOutputBytes">,
): Promise<CommandOutput> {
  const isStream = typeof input !== "string" && !(input instanceof Uint8Array);
  if (isStream) input.pipe(command.stdin);
  else command.stdin.end(input);
  const [stdout, stderr] = await Promise.all([
    captured(command.stdout, maxOutputBytes),
    captured(command.stderr, maxOutputBytes),
    command.wait(),
  ]);
  if (isStream) input.destroy();
  return { stdout, stderr, truncated: { stdout: stdout.omitted > 0, stderr: stderr.omitted > 0 } };
}

/** The result as plain data, for a document: each output as text. */
export function captureDocument<Result extends CommandOutput>({ stdout, stderr, ...result }: Result) {
  return { ...result, stdout: stdout.text, stderr: stderr.text };
}

/** Reads a stream to its end, and keeps at most this many bytes: the first half, and the last one. */
async function captured(stream: Readable, most: number): Promise<CapturedOutput> {
  const kept = new KeptEnds(most);
  for await (const bytes of stream) kept.add(bytes as Buffer);
  return kept.output();
}

class KeptEnds {
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
