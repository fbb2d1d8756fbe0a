import { fstatSync, openSync, readSync } from "node:fs";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { closeUnlessLocked } from "./locked-files.ts";

/** A file that is read at any offset. It may be a database that this process has locked. */
export class RandomAccess implements Disposable {
  readonly #fd: number;
  readonly size: number;

  constructor(path: string) {
    this.#fd = openSync(bytesFromPath(path), "r");
    this.size = fstatSync(this.#fd).size;
  }

  /** Fills the buffer from an offset. Everything after the end of the file is zeros. */
  readInto(bytes: Buffer, at: number): void {
    let filled = 0;
    while (filled < bytes.length) {
      const length = readSync(this.#fd, bytes, filled, bytes.length - filled, at + filled);
      if (length === 0) break;
      filled += length;
    }
    bytes.fill(0, filled);
  }

  [Symbol.dispose](): void {
    closeUnlessLocked(this.#fd);
  }
}
