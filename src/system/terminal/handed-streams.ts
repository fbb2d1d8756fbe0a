import { accessSync, constants, fstatSync, readlinkSync, type Stats, statSync } from "node:fs";
import { UsageError } from "../../core/errors/errors.ts";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { failedWith } from "../calls/errno.ts";
import { calls } from "../calls/native.ts";
import { pumpIn, pumpOut, type StreamPump } from "./stream-pump.ts";

/**
 * - `as-is`: a pipe, a socket, /dev/null, or what was opened for reading and writing alike.
 * - `terminal`: the command gets one of its own in its place.
 * - `reopened`: a file to read from that has a path. It is opened once more, through a mount that can't be
 *   written through.
 * - `pumped`: we read or write it for the command, which has a pipe: what else is read from, and files that
 *   are written to. Through such a file itself a command could change what was in it before, the lines of a
 *   log perhaps.
 */
type Handing = "as-is" | "terminal" | "reopened" | "pumped";

const F_GETFL = 3;
const ACCESS = 3;
const O_RDWR = 2;
/** /dev/null and its kind. */
const MEMORY_DEVICES = 1;
const SEEK_SET = 0;
const SEEK_CUR = 1;

/**
 * The terminal that a command gets: none; one that has the keyboard; or one that gets the keyboard when the
 * command reads from it. That is so where only some of the streams are a terminal: another program of the
 * same pipeline, a pager perhaps, may be the one that reads.
 */
export type TerminalUse = "none" | "connected" | "on-demand";

/** The standard streams of a command: it can do with ours no more than they were given for. */
export class HandedStreams {
  /** What it finds at 0, 1 and 2. */
  readonly descriptors: readonly [number, number, number];
  /** Which of these become a terminal of its own. */
  readonly terminals: readonly number[];
  /** The path of the file that is opened once more as its standard input. */
  readonly inputFile: string | undefined;
  readonly #pumps: readonly StreamPump[];

  /** Its standard output goes to our own, or to our standard error. */
  constructor(output: 1 | 2) {
    const handing = [handingOf(0), handingOf(output), handingOf(2)] as const;
    this.terminals = [0, 1, 2].filter((at) => handing[at] === "terminal");
    this.inputFile = handing[0] === "reopened" ? pathOfInput() : undefined;
    const input = handing[0] === "pumped" ? pumpIn() : undefined;
    const out = handing[1] === "pumped" ? pumpOut(output) : undefined;
    // What was sent to one place by both keeps its order.
    const shared = output === 2 || isSameFile(1, 2) ? out : undefined;
    const errors = handing[2] === "pumped" ? (shared ?? pumpOut(2)) : undefined;
    this.descriptors = [input?.descriptor ?? 0, out?.descriptor ?? output, errors?.descriptor ?? 2];
    this.#pumps = [...new Set([input, out, errors])].filter((pump) => pump !== undefined);
  }

  get terminal(): TerminalUse {
    if (this.terminals.length === 0) return "none";
    return this.terminals.includes(0) && this.terminals.includes(1) ? "connected" : "on-demand";
  }

  /**
   * Which of our own streams shows what is written to the command's terminal; undefined if only its input is
   * one.
   */
  get screen(): number | undefined {
    const shown = this.terminals.find((at) => at !== 0);
    return shown === undefined ? undefined : this.descriptors[shown];
  }

  /** To be called when the command has its ends. */
  start(): void {
    for (const pump of this.#pumps) pump.start();
  }

  /** Waits until everything that the command wrote is written. */
  async finish(): Promise<void> {
    for (const pump of this.#pumps) await pump.finish();
  }

  /** Leaves our standard input where the command stopped reading. */
  static followInput(read: number): void {
    const at = calls.lseek(read, 0, SEEK_CUR);
    if (at >= 0) calls.lseek(0, at, SEEK_SET);
  }
}

function handingOf(fd: 0 | 1 | 2): Handing {
  const stats = fstatSync(fd);
  if (stats.isDirectory())
    throw new UsageError(`A folder can't be ${fd === 0 ? "the input" : "the output"} of a command.`, {
      hint: "Give it a file, a pipe or /dev/null.",
    });
  if (stats.isFIFO() || stats.isSocket() || isMemoryDevice(stats)) return "as-is";
  if (process.getBuiltinModule("node:tty").isatty(fd)) return "terminal";
  if ((calls.fcntl(fd, F_GETFL, 0) & ACCESS) === O_RDWR) return "as-is";
  return fd === 0 && stats.isFile() && pathOfInput() !== undefined ? "reopened" : "pumped";
}

function isMemoryDevice(stats: Stats): boolean {
  return stats.isCharacterDevice() && ((stats.rdev >> 8) & 0xfff) === MEMORY_DEVICES;
}

/** Where the file at standard input is, if it has a path by which we can open it. */
function pathOfInput(): string | undefined {
  try {
    const path = pathFromBytes(readlinkSync("/proc/self/fd/0", { encoding: "buffer" }));
    accessSync(bytesFromPath(path), constants.R_OK);
    return isSame(statSync(bytesFromPath(path)), fstatSync(0)) ? path : undefined;
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "EACCES", "ENOTDIR", "ELOOP", "ENAMETOOLONG")) return undefined;
    throw thrown;
  }
}

function isSameFile(one: number, other: number): boolean {
  return isSame(fstatSync(one), fstatSync(other));
}

function isSame(one: Stats, other: Stats): boolean {
  return one.dev === other.dev && one.ino === other.ino;
}
