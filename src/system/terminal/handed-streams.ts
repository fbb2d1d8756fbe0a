import { accessSync, constants, fstatSync, readlinkSync, type Stats, statSync } from "node:fs";
import { UsageError } from "../../core/errors/errors.ts";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { failedWith } from "../calls/errno.ts";
import { calls } from "../calls/native.ts";
import { BoundedOutput, MOST_LOGGED } from "./bounded-output.ts";
import type { CommandStreams, OuterTerminal, TerminalLink, TerminalUse } from "./command-streams.ts";
import { pumpIn, pumpOut, type StreamPump } from "./stream-pump.ts";
import { TerminalRelay } from "./terminal-relay.ts";
import { UserTerminal } from "./user-terminal.ts";

/**
 * How the command gets one of our standard streams:
 * - `as-is`: a pipe, a socket, /dev/null, or a file opened for both reading and writing.
 * - `terminal`: the command gets its own terminal instead.
 * - `reopened`: an input file with a path. It is opened again, through a read-only mount.
 * - `pumped`: the command gets a pipe, and we read or write for it: other inputs, and output files. Through
 *   such a file itself a command could change its earlier content, such as the lines of a log.
 */
type Handing = "as-is" | "terminal" | "reopened" | "pumped";

const F_GETFL = 3;
const ACCESS = 3;
const O_RDWR = 2;
/** /dev/null and similar devices. */
const MEMORY_DEVICES = 1;
const SEEK_SET = 0;
const SEEK_CUR = 1;

/** The standard streams of a command. It can use ours only for what they were given for. */
export class HandedStreams implements CommandStreams {
  readonly descriptors: readonly [number, number, number];
  readonly terminals: readonly number[];
  readonly inputFile: string | undefined;
  /** Only of a terminal: what goes to a pipe or a file is its owner's. */
  readonly kept: BoundedOutput | undefined;
  readonly #pumps: readonly StreamPump[];

  /** `output`: where the command's standard output goes, our own or our standard error. */
  constructor(output: 1 | 2) {
    const handing = [handingOf(0), handingOf(output), handingOf(2)] as const;
    this.terminals = [0, 1, 2].filter((at) => handing[at] === "terminal");
    const isShown = this.terminals.includes(1) && this.terminals.includes(2);
    this.kept = isShown ? new BoundedOutput(MOST_LOGGED) : undefined;
    this.inputFile = handing[0] === "reopened" ? pathOfInput() : undefined;
    const input = handing[0] === "pumped" ? pumpIn() : undefined;
    const out = handing[1] === "pumped" ? pumpOut(output) : undefined;
    // Output that both streams send to one file keeps its order.
    const shared = output === 2 || isSameFile(1, 2) ? out : undefined;
    const errors = handing[2] === "pumped" ? (shared ?? pumpOut(2)) : undefined;
    this.descriptors = [input?.descriptor ?? 0, out?.descriptor ?? output, errors?.descriptor ?? 2];
    this.#pumps = [...new Set([input, out, errors])].filter((pump) => pump !== undefined);
  }

  get terminal(): TerminalUse {
    if (this.terminals.length === 0) return "none";
    return this.terminals.includes(0) && this.terminals.includes(1) ? "connected" : "on-demand";
  }

  openTerminal(): OuterTerminal | undefined {
    if (this.terminals.length === 0) return undefined;
    const terminal = UserTerminal.open(this.terminals);
    return {
      shape: terminal.shape,
      connect: (outer) => this.#connect(terminal, outer),
      close: () => terminal.close(),
    };
  }

  #connect(terminal: UserTerminal, outer: number): TerminalLink {
    const relay = new TerminalRelay(terminal, outer, { screen: this.#screen, kept: this.kept });
    if (this.terminal === "connected") relay.takeKeyboard();
    return relay;
  }

  /**
   * The stream of ours that shows the output of the command's terminal; undefined if only its input is one.
   */
  get #screen(): number | undefined {
    const shown = this.terminals.find((at) => at !== 0);
    return shown === undefined ? undefined : this.descriptors[shown];
  }

  start(): void {
    for (const pump of this.#pumps) pump.start();
  }

  discard(): void {
    // The launcher that was ended had the other ends, so the pumps end by themselves.
  }

  async finish(): Promise<void> {
    for (const pump of this.#pumps) await pump.finish();
  }

  /** Moves our standard input to where the command stopped reading. */
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
  // The module loads the streams, which takes a third of a bare start.
  if (stats.isCharacterDevice() && process.getBuiltinModule("node:tty").isatty(fd)) return "terminal";
  if ((calls.fcntl(fd, F_GETFL, 0) & ACCESS) === O_RDWR) return "as-is";
  return fd === 0 && stats.isFile() && pathOfInput() !== undefined ? "reopened" : "pumped";
}

function isMemoryDevice(stats: Stats): boolean {
  return stats.isCharacterDevice() && ((stats.rdev >> 8) & 0xfff) === MEMORY_DEVICES;
}

/** The path of the file at standard input, if it has one by which we can open it. */
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
