import { fstatSync, writeSync } from "node:fs";
import { failedWith } from "../calls/errno.ts";

const RETRY_MS = 2;
/** /dev/null and similar devices, where many scripts send output. */
const MEMORY_DEVICES = 1;
const waiting = new Int32Array(new SharedArrayBuffer(4));

/**
 * stdout or stderr, written to directly. Node's own streams take five milliseconds to load, which every
 * command would pay, and a process that ends must not lose what they still buffer.
 */
export class StandardStream {
  readonly #fd: number;

  constructor(fd: number) {
    this.#fd = fd;
  }

  /** Whether it is a terminal. */
  get isTerminal(): boolean {
    const stats = fstatSync(this.#fd);
    if (!stats.isCharacterDevice() || majorOf(stats.rdev) === MEMORY_DEVICES) return false;
    return isTerminal(this.#fd);
  }

  /** Writes all bytes, and waits for a slow reader. Fails with EPIPE if there is no reader any more. */
  write(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      try {
        from += writeSync(this.#fd, bytes, from);
      } catch (thrown) {
        // Another process that shares the pipe made it non-blocking, and it is full.
        if (!failedWith(thrown, "EAGAIN")) throw thrown;
        Atomics.wait(waiting, 0, 0, RETRY_MS);
      }
    }
  }
}

/** Whether standard input is a terminal. */
export function inputIsTerminal(): boolean {
  return isTerminal(0);
}

/** Loaded on demand: the module loads the streams, which takes longer than most commands. */
function isTerminal(fd: number): boolean {
  return process.getBuiltinModule("node:tty").isatty(fd);
}

function majorOf(device: number): number {
  return (device >> 8) & 0xfff;
}
