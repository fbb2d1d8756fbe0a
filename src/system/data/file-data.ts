import { failedWith, systemCallError } from "../calls/errno.ts";
import { factsOfOpen } from "../calls/facts.ts";
import { calls, check, lastErrno, PinnedBuffer } from "../calls/native.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { dataRanges } from "./data-ranges.ts";

/**
 * Moving the content of files: sharing blocks where the file system can (reflink), copying otherwise, holes
 * kept.
 */
const FICLONE = 0x40049409;
const SMALL = 128 * 1024;
const CHUNK = 8 * 1024 * 1024;

const read = (fd: number, buffer: PinnedBuffer, label: string) =>
  readSome(fd, buffer.address, buffer.bytes.length, label);

let smallBuffer: PinnedBuffer | undefined;

/** Makes `to` share its blocks with `from`. False if the file system can't, or not between these two. */
export function cloneData(point: Failpoint, from: number, to: number, label: string): boolean {
  passFailpoint(point);
  if (calls.ioctlNumber(to, FICLONE, from) === 0) return true;
  const error = systemCallError(lastErrno(), "reflink", label);
  if (failedWith(error, "EOPNOTSUPP", "ENOTSUP", "EXDEV", "EINVAL", "ENOTTY", "ENOSYS", "EBADF", "EPERM"))
    return false;
  throw error;
}

/**
 * Copies the content of one open file into another that is empty. If it changes meanwhile the copy is of no
 * use: the caller compares the facts before and after and copies again.
 */
export function copyData(point: Failpoint, from: number, to: number, size: number, label: string): void {
  for (const _ of copyDataInSteps(point, from, to, size, label));
}

/** One after the other. */
type Pieces = Generator<undefined, void, undefined>;

/** The same, piece by piece, for who has other things to do in between. */
export function* copyDataInSteps(
  point: Failpoint,
  from: number,
  to: number,
  size: number,
  label: string,
): Pieces {
  if (size === 0) return;
  if (size <= SMALL) copySmall(point, from, to, size, label);
  else yield* copyExtents(point, from, to, size, label);
}

/**
 * Reads no further than the size that was seen: what comes behind it was written since, and the copy is of no
 * use then.
 */
function copySmall(point: Failpoint, from: number, to: number, size: number, label: string): void {
  smallBuffer ??= new PinnedBuffer(SMALL);
  for (let left = size; left > 0; ) {
    const length = read(from, smallBuffer, label);
    if (length === 0) return;
    writeAll(point, to, smallBuffer, length, label);
    left -= length;
  }
}

function* copyExtents(point: Failpoint, from: number, to: number, size: number, label: string): Pieces {
  passFailpoint(point);
  check(calls.ftruncate(to, size), "truncate", label);
  for (const { start, end } of dataRanges(from, size)) yield* copyRange(point, from, to, start, end, label);
}

function* copyRange(
  point: Failpoint,
  from: number,
  to: number,
  start: number,
  end: number,
  label: string,
): Pieces {
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
      at += copyByHand(point, from, to, end - at, label);
    } else throw systemCallError(lastErrno(), "copy", label);
    yield;
  }
}

function copyByHand(point: Failpoint, from: number, to: number, wanted: number, label: string): number {
  smallBuffer ??= new PinnedBuffer(SMALL);
  const length = readSome(from, smallBuffer.address, Math.min(SMALL, wanted), label);
  if (length === 0) return wanted;
  writeAll(point, to, smallBuffer, length, label);
  return length;
}

function writeAll(point: Failpoint, to: number, buffer: PinnedBuffer, length: number, label: string): void {
  for (let at = 0; at < length; ) {
    passFailpoint(point);
    at += check(calls.write(to, buffer.address + at, length - at), "write", label);
  }
}

/** Writes these bytes at the end of what has been written to the descriptor. */
export function writeBytes(point: Failpoint, to: number, bytes: Uint8Array, label: string): void {
  smallBuffer ??= new PinnedBuffer(SMALL);
  for (let at = 0; at < bytes.length; at += SMALL) {
    const piece = bytes.subarray(at, at + SMALL);
    smallBuffer.bytes.set(piece);
    writeAll(point, to, smallBuffer, piece.length, label);
  }
}

/** Everything that can be read from here on. */
export function readBytes(from: number, label: string): Buffer {
  smallBuffer ??= new PinnedBuffer(SMALL);
  const parts: Buffer[] = [];
  // A large file is read into one piece of memory of its size, because joining pieces would take twice that.
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

/** The content of a file from its beginning, piece by piece. Each is valid until the next thing is read. */
export function* pieces(from: number, label: string): Generator<Buffer, void, undefined> {
  smallBuffer ??= new PinnedBuffer(SMALL);
  for (let at = 0; ; ) {
    const length = check(calls.pread(from, smallBuffer.address, SMALL, at), "read", label);
    if (length === 0) return;
    at += length;
    yield smallBuffer.bytes.subarray(0, length);
  }
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

/** Takes room on the disk for a file without writing it. */
export function reserveRoom(point: Failpoint, fd: number, size: number, label: string): void {
  passFailpoint(point);
  const result = calls.fallocate(fd, 0, 0, size);
  if (result < 0 && !failedWith(systemCallError(lastErrno(), "fallocate", label), "EOPNOTSUPP", "ENOSYS"))
    check(result, "fallocate", label);
}

const F_SETSIG = 10;
const F_SETLEASE = 1024;
/** Nobody dies of this one, as of that which would be sent else. */
const SIGURG = 23;
const F_RDLCK = 0;

/**
 * Whether anybody has this file open for writing, a shared mapping included: a read lease is only given when
 * nobody has. Where leases are not to be had (not the owner's, not supported) the answer is the careful one:
 * yes. The lease goes when the file is closed. Who wants to write before that waits for it, and we are sent a
 * signal.
 */
export function isOpenForWriting(fd: number): boolean {
  calls.fcntl(fd, F_SETSIG, SIGURG);
  return calls.fcntl(fd, F_SETLEASE, F_RDLCK) < 0;
}
