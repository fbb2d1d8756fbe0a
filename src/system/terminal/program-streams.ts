import { closeSync, constants, openSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import type { ReadStream } from "node:tty";
import { failedWith } from "../calls/errno.ts";
import type { BoundedOutput } from "./bounded-output.ts";
import type { CommandStreams, OuterTerminal } from "./command-streams.ts";
import { newPipe, newSocket } from "./stream-pump.ts";
import { resizeTerminal, windowSize } from "./user-terminal.ts";
import { WatchedPipe } from "./watched-pipe.ts";

/** The end of input, as it is typed at a terminal. */
const END_OF_INPUT = "\x04";

/** How long the end of a terminal is waited for that some other process may hold open. */
const MOST_END_MS = 1000;

/** The rows and columns of a terminal. */
export interface WindowSize {
  readonly rows: number;
  readonly columns: number;
}

/** The standard streams of a command, for the program that started it. */
export interface ProgramEnds {
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
}

/**
 * Streams that the program which runs the command reads and writes itself: three pipes. Nothing of the
 * process's own standard streams is handed in. What the program does not read stays in the pipe, and the
 * command waits.
 */
export class PipedStreams implements CommandStreams, ProgramEnds {
  readonly terminals = [];
  readonly terminal = "none";
  readonly inputFile = undefined;
  readonly descriptors: readonly [number, number, number];
  readonly stdin: Writable;
  readonly stdout: Readable;
  readonly stderr: Readable;
  readonly kept: BoundedOutput | undefined;
  readonly #outputs: readonly WatchedPipe[];

  /** `kept` gets what the command writes, beside the program. */
  constructor(kept?: BoundedOutput) {
    const [input, output, errors] = [newPipe(), newPipe(), newPipe()];
    this.descriptors = [input[0], output[1], errors[1]];
    this.stdin = newSocket(input[1], "writable");
    this.kept = kept;
    const [stdout, stderr] = [new WatchedPipe(output[0], kept), new WatchedPipe(errors[0], kept)];
    this.#outputs = [stdout, stderr];
    this.stdout = stdout.stream;
    this.stderr = stderr.stream;
    this.stdin.on("error", unlessClosed);
  }

  start(): void {
    for (const fd of this.descriptors) closeSync(fd);
  }

  discard(): void {
    for (const stream of [this.stdin, this.stdout, this.stderr]) stream.destroy();
  }

  openTerminal(): undefined {
    return undefined;
  }

  /** The command has ended; what it wrote is still there to be read. */
  async finish(): Promise<void> {
    this.stdin.destroy();
    for (const output of this.#outputs) output.finish();
  }
}

/** Streams of a command that has a terminal of its own, which the program reads and types at. */
export class TerminalStreams implements CommandStreams, ProgramEnds {
  readonly terminals = [0, 1, 2];
  readonly terminal = "connected";
  readonly inputFile = undefined;
  readonly descriptors: readonly [number, number, number];
  readonly stdin: Writable;
  readonly stdout: Readable;
  /** Empty: at a terminal both outputs are one. */
  readonly stderr: Readable;
  readonly kept: BoundedOutput | undefined;
  #size: WindowSize;
  #outer: ReadStream | undefined;
  #outerFd = -1;
  readonly #connected = Promise.withResolvers<ReadStream | undefined>();

  /** `kept` gets what the command writes, beside the program. */
  constructor(size: WindowSize, kept?: BoundedOutput) {
    const { Readable, Writable } = process.getBuiltinModule("node:stream");
    this.#size = size;
    this.kept = kept;
    const nothing = openSync("/dev/null", constants.O_RDWR);
    this.descriptors = [nothing, nothing, nothing];
    this.stdout = new Readable({ read: () => void this.#outer?.resume() });
    this.stderr = Readable.from([]);
    this.stdin = new Writable({
      write: (bytes: Buffer, _, done) => void this.#type(bytes).then(() => done(), done),
      final: (done) => void this.#type(END_OF_INPUT).then(() => done(), done),
    });
    this.stdin.on("error", unlessClosed);
  }

  start(): void {
    closeSync(this.descriptors[0]);
  }

  discard(): void {
    this.#connected.resolve(undefined);
    for (const stream of [this.stdin, this.stdout]) stream.destroy();
  }

  /** Sets the window size. */
  resize(size: WindowSize): void {
    this.#size = size;
    if (this.#outer?.destroyed === false) resizeTerminal(this.#outerFd, windowSize(size));
  }

  openTerminal(): OuterTerminal {
    return { shape: this.#size, connect: (fd) => this.#connect(fd), close: () => this.discard() };
  }

  async finish(): Promise<void> {
    this.stdin.destroy();
  }

  #connect(fd: number) {
    const { ReadStream } = process.getBuiltinModule("node:tty");
    const outer = new ReadStream(fd);
    let isEnding = false;
    outer.on("data", (bytes: Buffer) => {
      this.kept?.add(bytes);
      if (!this.stdout.push(bytes) && !isEnding) outer.pause();
    });
    // A terminal ends with an error: no process has its other side open any more.
    outer.once("error", (thrown) => {
      if (failedWith(thrown, "EIO")) this.stdout.push(null);
      else this.stdout.destroy(thrown);
    });
    this.stdout.once("close", () => outer.destroy());
    const closed = Promise.withResolvers<void>();
    for (const event of ["error", "close"]) outer.once(event, () => closed.resolve());
    this.#outer = outer;
    this.#outerFd = fd;
    this.#connected.resolve(outer);
    return {
      takeKeyboard: () => undefined,
      // There is no shell that could continue it later.
      stop: () => Promise.resolve(),
      // The command writes no more, so what its terminal still holds is little: it can all be taken now.
      end: async () => {
        isEnding = true;
        outer.resume();
        // What has come while this process stood still is read between the two.
        const timer = setTimeout(() => setImmediate(closed.resolve), MOST_END_MS);
        await closed.promise;
        clearTimeout(timer);
        // Another process can hold it open, and what that writes is not of the command.
        outer.destroy();
        this.stdout.push(null);
      },
    };
  }

  async #type(keys: string | Uint8Array): Promise<void> {
    const outer = await this.#connected.promise;
    await new Promise<void>((resolve, reject) => {
      if (outer === undefined || outer.destroyed) resolve();
      else outer.write(keys, (thrown) => (thrown ? reject(thrown) : resolve()));
    });
  }
}

/** A command need not read its input, and may have ended. */
function unlessClosed(thrown: Error): void {
  if (!failedWith(thrown, "EPIPE", "ECONNRESET", "EIO")) throw thrown;
}
