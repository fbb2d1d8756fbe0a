import { constants, openSync } from "node:fs";
import { failedWith, systemCallError } from "../calls/errno.ts";
import { factsOfOpen } from "../calls/facts.ts";
import { closeFile } from "../calls/handles.ts";
import { calls, check, lastErrno, PinnedBuffer } from "../calls/native.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { type DataRange, dataRanges } from "./data-ranges.ts";

/**
 * Copies the content of files: by shared blocks (reflink) where the file system can, else by bytes. Holes
 * stay holes.
 */
const FICLONE = 0x40049409;
const SMALL = 128 * 1024;
const CHUNK = 8 * 1024 * 1024;

const read = (fd: number, buffer: PinnedBuffer, label: string) =>
  readSome(fd, buffer.address, buffer.bytes.length, label);

let smallBuffer: PinnedBuffer | undefined;

/** Makes `to` share its blocks with `from`. Returns false if the file system can't, or not for these two. */
export function cloneData(point: Failpoint, from: number, to: number, label: string): boolean {
  passFailpoint(point);
  if (calls.ioctlNumber(to, FICLONE, from) === 0) return true;
  const error = systemCallError(lastErrno(), "reflink", label);
  if (failedWith(error, "EOPNOTSUPP", "ENOTSUP", "EXDEV", "EINVAL", "ENOTTY", "ENOSYS", "EBADF", "EPERM"))
    return false;
  throw error;
}

/** Where a copy goes, and what errors call it. */
interface Target {
  readonly point: Failpoint;
  readonly to: number;
  readonly label: string;
}

/** A copy of one open file into another, empty one. */
export interface DataCopy extends Target {
  readonly from: number;
}

/**
 * Copies so many bytes. The copy is useless if the file changes meanwhile: the caller compares the facts
 * before and after, and copies again.
 */
export function copyData(copy: DataCopy, size: number): void {
  for (const _ of copyDataInSteps(copy, size));
}

/** Yields after each piece. */
type Pieces = Generator<undefined, void, undefined>;

/** Like `copyData`, but yields after each piece, for a caller with other work in between. */
export function* copyDataInSteps(copy: DataCopy, size: number): Pieces {
  if (size === 0) return;
  if (size <= SMALL) copySmall(copy, size);
  else yield* copyExtents(copy, size);
}

/** Reads no further than the size seen before. Bytes after it are new, and make the copy useless anyway. */
function copySmall(copy: DataCopy, size: number): void {
  smallBuffer ??= new PinnedBuffer(SMALL);
  for (let left = size; left > 0; ) {
    const length = read(copy.from, smallBuffer, copy.label);
    if (length === 0) return;
    writeAll(copy, smallBuffer, length);
    left -= length;
  }
}

function* copyExtents(copy: DataCopy, size: number): Pieces {
  passFailpoint(copy.point);
  check(calls.ftruncate(copy.to, size), "truncate", copy.label);
  for (const range of dataRanges(copy.from, size)) yield* copyRange(copy, range);
}

function* copyRange(copy: DataCopy, { start, end }: DataRange): Pieces {
  const { point, from, to, label } = copy;
  check(calls.lseek(from, start, 0), "seek", label);
  check(calls.lseek(to, start, 0), "seek", label);
  for (let at = start; at < end; ) {
    passFailpoint(point);
    const copied = calls.copyFileRange(from, 0, to, 0, Math.min(CHUNK, end - at), 0);
    if (copied > 0) at += copied;
    else if (copied === 0) return;
    else if (
      failedWith(systemCallError(lastErrno(), "copy", label), "EXDEV", "EINVAL", "ENOSYS", "EOPNOTSUPP")
    ) {
      at += copyByHand(copy, end - at);
    } else throw systemCallError(lastErrno(), "copy", label);
    yield;
  }
}

function copyByHand(copy: DataCopy, wanted: number): number {
  smallBuffer ??= new PinnedBuffer(SMALL);
  const length = readSome(copy.from, smallBuffer.address, Math.min(SMALL, wanted), copy.label);
  if (length === 0) return wanted;
  writeAll(copy, smallBuffer, length);
  return length;
}

function writeAll({ point, to, label }: Target, buffer: PinnedBuffer, length: number): void {
  for (let at = 0; at < length; ) {
    passFailpoint(point);
    at += check(calls.write(to, buffer.address + at, length - at), "write", label);
  }
}

/** Writes these bytes at the current position of the descriptor. */
export function writeBytes(point: Failpoint, to: number, bytes: Uint8Array, label: string): void {
  smallBuffer ??= new PinnedBuffer(SMALL);
  for (let at = 0; at < bytes.length; at += SMALL) {
    const piece = bytes.subarray(at, at + SMALL);
    smallBuffer.bytes.set(piece);
    writeAll({ point, to, label }, smallBuffer, piece.length);
  }
}

/** Reads everything from the current position on. */
export function readBytes(from: number, label: string): Buffer {
  smallBuffer ??= new PinnedBuffer(SMALL);
  const parts: Buffer[] = [];
  // A large file is read into one buffer of its size, because joining pieces would take twice the memory.
  const { size } = factsOfOpen(from, label);
  if (size > SMALL) {
    const whole = new PinnedBuffer(size);
    parts.push(whole.bytes.subarray(0, readFully(from, whole, label)));
  }
  for (;;) {
    const length = read(from, smallBuffer, label);
    if (length === 0) return parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts);
    parts.push(Buffer.from(smallBuffer.bytes.subarray(0, length)));
  }
}

/** The content of a file from its beginning, piece by piece. Each piece is valid until the next read. */
export function* pieces(from: number, label: string): Generator<Buffer, void, undefined> {
  smallBuffer ??= new PinnedBuffer(SMALL);
  for (let at = 0; ; ) {
    const length = check(calls.pread(from, smallBuffer.address, SMALL, at), "read", label);
    if (length === 0) return;
    at += length;
    yield smallBuffer.bytes.subarray(0, length);
  }
}

/** A part of a file: at most so many bytes, and fewer at its end. */
export function readPart(from: number, offset: number, length: number, label: string): Buffer {
  const part = new PinnedBuffer(Math.max(1, length));
  let total = 0;
  while (total < length) {
    const read = calls.pread(from, part.address + total, length - total, offset + total);
    if (check(read, "read", label) === 0) break;
    total += read;
  }
  return part.bytes.subarray(0, total);
}

/** The last bytes of a file, at most so many. */
export function readTail(from: number, most: number, label: string): Buffer {
  smallBuffer ??= new PinnedBuffer(SMALL);
  const { size } = factsOfOpen(from, label);
  const length = Math.min(most, size, SMALL);
  const read = check(calls.pread(from, smallBuffer.address, length, size - length), "read", label);
  return Buffer.from(smallBuffer.bytes.subarray(0, read));
}

function readFully(fd: number, buffer: PinnedBuffer, label: string): number {
  let total = 0;
  while (total < buffer.bytes.length) {
    const length = readSome(fd, buffer.address + total, buffer.bytes.length - total, label);
    if (length === 0) break;
    total += length;
  }
  return total;
}

function readSome(fd: number, address: number, size: number, label: string): number {
  return check(calls.read(fd, address, size), "read", label);
}

/** Reserves room on the disk for a file without writing it. */
export function reserveRoom(point: Failpoint, fd: number, size: number, label: string): void {
  passFailpoint(point);
  const result = calls.fallocate(fd, 0, 0, size);
  if (result < 0 && !failedWith(systemCallError(lastErrno(), "fallocate", label), "EOPNOTSUPP", "ENOSYS"))
    check(result, "fallocate", label);
}

const F_SETSIG = 10;
const F_SETLEASE = 1024;
/** Processes ignore SIGURG by default; the signal that a lease sends by default would end this one. */
const SIGURG = 23;
const F_RDLCK = 0;

/**
 * Whether any process has this file open for writing, shared mappings included: the kernel gives a read lease
 * only if none has. Where leases are unavailable (not the owner's file, not supported) the answer is a
 * cautious yes. Closing the file ends the lease. Until then a process that opens the file for writing waits,
 * and the kernel signals us.
 */
export function isOpenForWriting(fd: number): boolean {
  calls.fcntl(fd, F_SETSIG, SIGURG);
  return calls.fcntl(fd, F_SETLEASE, F_RDLCK) < 0;
}

/** Opens a complete spool for reading, from its beginning. It has no name, so its path is one of /proc. */
export function openSpooled(path: string): number {
  return openSync(path, constants.O_RDONLY);
}

/** The whole content of a spool. */
export function readSpooled(path: string): Uint8Array {
  const fd = openSpooled(path);
  try {
    return readBytes(fd, path);
  } finally {
    closeFile(fd);
  }
}
