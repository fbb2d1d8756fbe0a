import { fstatSync, writeSync } from "node:fs";
import { failedWith } from "../calls/errno.ts";

const RETRY_MS = 2;
/** /dev/null and its kind, where the output of many scripts goes. */
const MEMORY_DEVICES = 1;
const waiting = new Int32Array(new SharedArrayBuffer(4));

/**
 * stdout or stderr, written to directly: Node's own streams take five milliseconds to load, which every
 * command would pay, and a process that ends must not cut off what they still hold.
 */
export class StandardStream {
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Whether a person is looking at it. */
  get isTerminal(): boolean {
    const stats = fstatSync(this.#fd);
    if (!stats.isCharacterDevice() || majorOf(stats.rdev) === MEMORY_DEVICES) return false;
    return isTerminal(this.#fd);
  }

  /** Writes all of it, waiting for a reader that is slow. Fails with EPIPE if there is none any more. */
  write(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      try {
        from += writeSync(this.#fd, bytes, from);
      } catch (thrown) {
        // Somebody who shares the pipe with us made it non-blocking, and it is full.
        if (!failedWith(thrown, "EAGAIN")) throw thrown;
        Atomics.wait(waiting, 0, 0, RETRY_MS);
      }
    }
  }
}

/** Whether a person sits at standard input. */
export function inputIsTerminal(): boolean {
  return isTerminal(0);
}

/** Loaded only by those that ask: it brings the streams along, and takes longer than most commands do. */
function isTerminal(fd: number): boolean {
  return process.getBuiltinModule("node:tty").isatty(fd);
}

function majorOf(device: number): number {
  return (device >> 8) & 0xfff;
}
