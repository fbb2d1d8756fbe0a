import { readSync } from "node:fs";
import type { Socket } from "node:net";
import { failedWith } from "../calls/errno.ts";
import type { BoundedOutput } from "./bounded-output.ts";
import { newSocket } from "./stream-pump.ts";

/** The most that a pipe holds, unless the machine's administrator allows more. */
const MOST_IN_PIPE = 1024 * 1024;

/**
 * The end of a pipe that a program reads, while we keep some of what comes. What comes is seen where it
 * enters the stream: whether and how fast the program reads stays its own affair.
 */
export class WatchedPipe {
  readonly stream: Socket;
  readonly #fd: number;
  readonly #kept: BoundedOutput | undefined;
  #isAtEnd = false;

  constructor(fd: number, kept: BoundedOutput | undefined) {
    this.#fd = fd;
    this.#kept = kept;
    this.stream = newSocket(fd, "readable");
    if (kept !== undefined) this.#watch(kept);
  }

  /**
   * Call this when the command has ended. Moves what is still in the pipe into the stream, so that all of it
   * was seen. One read only: a process that got the other end from the command could write on forever.
   */
  finish(): void {
    if (this.#kept === undefined || this.#isAtEnd || this.stream.destroyed) return;
    const bytes = Buffer.allocUnsafeSlow(MOST_IN_PIPE);
    try {
      const length = readSync(this.#fd, bytes);
      if (length > 0) this.stream.push(Buffer.from(bytes.subarray(0, length)));
    } catch (thrown) {
      // Empty, and some process still has the other end.
      if (!failedWith(thrown, "EAGAIN")) throw thrown;
    }
  }

  #watch(kept: BoundedOutput): void {
    const push = this.stream.push.bind(this.stream);
    this.stream.push = (bytes: Buffer | null, encoding) => {
      if (bytes === null) this.#isAtEnd = true;
      else kept.add(bytes);
      return push(bytes, encoding);
    };
  }
}
