import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { SystemCallError } from "../../core/errors/errors.ts";
import { bytesFromPath, displayPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { guarded, MISSING, unlessFailed } from "../calls/errno.ts";

/** Who owns a file, and who may write it. */
export interface FileOwnership {
  readonly uid: number;
  readonly gid: number;
  /** Permission bits, 0 to 0o7777. */
  readonly mode: number;
}

export interface TextFile extends FileOwnership {
  readonly bytes: Buffer;
  /** The bytes as text. A byte that is not valid UTF-8 becomes a lone surrogate, as in byte-path.ts. */
  readonly text: string;
}

/** The ownership of the file, without opening it; undefined if nothing is there. */
export function ownershipOf(path: string): (FileOwnership & { readonly isFile: boolean }) | undefined {
  return unlessFailed(MISSING, () =>
    guarded("stat", path, () => ownershipFrom(statSync(bytesFromPath(path)))),
  );
}

/**
 * Reads a whole regular file; undefined if nothing is there. The ownership is that of the very file that was
 * read. Refuses a link (the caller resolves the path first), a file larger than `maxBytes`, and a fifo or
 * device, without waiting for it.
 */
export function readTextFile(path: string, maxBytes: number): TextFile | undefined {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
  const fd = unlessFailed(MISSING, () =>
    guarded("open", path, () => openSync(bytesFromPath(path), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)),
  );
  if (fd === undefined) return undefined;
  try {
    const stats = guarded("stat", path, () => fstatSync(fd));
    if (!stats.isFile()) throw new SystemCallError("EINVAL", "read", displayPath(path), "not a regular file");
    const bytes = guarded("read", path, () => readUpTo(fd, maxBytes + 1));
    if (bytes.length > maxBytes) {
      throw new SystemCallError("EFBIG", "read", displayPath(path), `larger than ${maxBytes} bytes`);
    }
    return { ...ownershipFrom(stats), bytes, text: pathFromBytes(bytes) };
  } finally {
    closeSync(fd);
  }
}

function readUpTo(fd: number, limit: number): Buffer {
  const parts: Buffer[] = [];
  for (let left = limit; left > 0; ) {
    const part = Buffer.allocUnsafe(Math.min(left, 64 * 1024));
    const length = readSync(fd, part);
    if (length === 0) break;
    parts.push(part.subarray(0, length));
    left -= length;
  }
  return Buffer.concat(parts);
}

function ownershipFrom(stats: Stats): FileOwnership & { readonly isFile: boolean } {
  return { uid: stats.uid, gid: stats.gid, mode: stats.mode & 0o7777, isFile: stats.isFile() };
}
