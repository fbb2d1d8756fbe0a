import { randomBytes } from "node:crypto";
import {
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  fsyncSync,
  openSync,
  readdirSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join } from "node:path";
import { bytesFromPath, displayPath, pathFromBytes } from "../core/byte-path.ts";
import { SystemCallError } from "../core/errors.ts";
import { failedWith, translated } from "./errno.ts";
import { type Failpoint, passFailpoint } from "./failpoints.ts";
import { calls, check } from "./native.ts";

/**
 * Small text files that are read and written whole: a config, a list of records. Paths are strings as in byte-path.ts.
 *
 * A durable write is a new file beside the old one, under a name that nobody can guess, made exclusively; its content is flushed, then
 * it takes the old one's name in one instant, then the folder is flushed. So at every moment the name stands for all of the old content
 * or all of the new. A crash before the rename leaves the new file behind, for `removeUnfinishedWrites`.
 */
const LOCK_EXCLUSIVE = 2;

/** Whose a file is and who may write it. */
export interface FileOwnership {
  readonly uid: number;
  readonly gid: number;
  /** Permission bits, 0 to 0o7777. */
  readonly mode: number;
}

export interface TextFile extends FileOwnership {
  readonly bytes: Buffer;
  /** The bytes as text; one that is not valid UTF-8 stands as a lone surrogate, as in byte-path.ts. */
  readonly text: string;
}

/** The path without any link in it, or undefined if there is nothing. */
export function realPathOf(path: string): string | undefined {
  return unlessMissing(() =>
    guarded("realpath", path, () => pathFromBytes(realpathSync.native(bytesFromPath(path), { encoding: "buffer" }))),
  );
}

/** Whose the file is, without opening it; undefined if there is nothing. */
export function ownershipOf(path: string): (FileOwnership & { readonly isFile: boolean }) | undefined {
  return unlessMissing(() => guarded("stat", path, () => ownershipFrom(statSync(bytesFromPath(path)))));
}

/**
 * Reads a regular file whole, or returns undefined if there is nothing. Its ownership is that of the very file that was read. A link is
 * refused: the caller resolves the path first. So is what is larger than `maxBytes`, and a fifo or device, without waiting on it.
 */
export function readTextFile(path: string, maxBytes: number): TextFile | undefined {
  const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_NOCTTY } = constants;
  const fd = unlessMissing(() =>
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

/** Gives the file this content, durably and at once. If it fails before the rename, everything is as before. */
export function durableWriteFile(point: Failpoint, path: string, bytes: Uint8Array, mode: number): void {
  replaceFile(point, path, bytes, mode, "flushed");
  passFailpoint(point);
  flushFolder(dirname(path));
}

/** The same for what means nothing after a restart of the machine: then the file may also be empty, or gone. */
export function writeFileAtOnce(point: Failpoint, path: string, bytes: Uint8Array, mode: number): void {
  replaceFile(point, path, bytes, mode, "not flushed");
}

function replaceFile(
  point: Failpoint,
  path: string,
  bytes: Uint8Array,
  mode: number,
  how: "flushed" | "not flushed",
): void {
  const temporary = join(dirname(path), `${unfinishedPrefix(path)}${randomBytes(12).toString("hex")}.tmp`);
  passFailpoint(point);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  const fd = guarded("create", temporary, () =>
    openSync(bytesFromPath(temporary), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600),
  );
  try {
    fill(point, fd, temporary, bytes, mode, how);
    passFailpoint(point);
    guarded("rename", path, () => renameSync(bytesFromPath(temporary), bytesFromPath(path)));
  } catch (thrown) {
    guarded("unlink", temporary, () => rmSync(bytesFromPath(temporary), { force: true }));
    throw thrown;
  }
}

/** Removes what crashed writes of this file left. Only for a caller who knows that no other process is writing it now. */
export function removeUnfinishedWrites(point: Failpoint, path: string): void {
  const folder = dirname(path);
  const prefix = unfinishedPrefix(path);
  const names = guarded("readdir", folder, () => readdirSync(bytesFromPath(folder), { encoding: "buffer" }));
  for (const name of names.map(pathFromBytes)) {
    if (!name.startsWith(prefix) || !/^[0-9a-f]{24}\.tmp$/.test(name.slice(prefix.length))) continue;
    const left = join(folder, name);
    passFailpoint(point);
    guarded("unlink", left, () => rmSync(bytesFromPath(left), { force: true }));
  }
}

/** Does the work while no other process is in here for the same folder. The lock goes with the process, whatever ends it. */
export function whileFolderLocked<T>(folder: string, work: () => T): T {
  const fd = openFolder(folder);
  try {
    check(calls.flock(fd, LOCK_EXCLUSIVE), "flock", folder);
    return work();
  } finally {
    closeSync(fd);
  }
}

function unfinishedPrefix(path: string): string {
  return `.${basename(path)}.`;
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

function fill(
  point: Failpoint,
  fd: number,
  path: string,
  bytes: Uint8Array,
  mode: number,
  how: "flushed" | "not flushed",
): void {
  try {
    passFailpoint(point);
    guarded("write", path, () => writeFileSync(fd, bytes));
    // The mode given to open is cut by the umask.
    guarded("chmod", path, () => fchmodSync(fd, mode));
    if (how === "flushed") guarded("fsync", path, () => fsyncSync(fd));
  } finally {
    closeSync(fd);
  }
}

function flushFolder(folder: string): void {
  const fd = openFolder(folder);
  try {
    guarded("fsync", folder, () => fsyncSync(fd));
  } finally {
    closeSync(fd);
  }
}

function openFolder(folder: string): number {
  return guarded("open", folder, () => openSync(bytesFromPath(folder), constants.O_RDONLY | constants.O_DIRECTORY));
}

function ownershipFrom(stats: Stats): FileOwnership & { readonly isFile: boolean } {
  return { uid: stats.uid, gid: stats.gid, mode: stats.mode & 0o7777, isFile: stats.isFile() };
}

function unlessMissing<T>(action: () => T): T | undefined {
  try {
    return action();
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "ENOTDIR")) return undefined;
    throw thrown;
  }
}

/** Turns Node's error for a failed system call into ours. */
export function guarded<T>(call: string, path: string, action: () => T): T {
  try {
    return action();
  } catch (thrown) {
    throw translated(thrown, call, path);
  }
}
