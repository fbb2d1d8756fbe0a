import { factsOfOpen } from "../calls/facts.ts";
import { calls, check, PinnedBuffer } from "../calls/native.ts";
import { ContentDigest } from "./content-digest.ts";
import { type DataRange, dataRanges, nextData } from "./data-ranges.ts";

/**
 * Reads and compares the content of files at the cost of their data: holes are skipped, whatever their size.
 */
const PIECE = 128 * 1024;

let firstBuffer: PinnedBuffer | undefined;
let secondBuffer: PinnedBuffer | undefined;

/**
 * Passes on the data of a file of this size, piece by piece, each with its offset. Everything between the
 * pieces, and after the last, is zeros. The bytes are valid only during the call.
 */
export function readData(
  fd: number,
  size: number,
  label: string,
  visit: (bytes: Buffer, at: number) => void,
): void {
  firstBuffer ??= new PinnedBuffer(PIECE);
  for (const { start, end } of size <= PIECE ? [{ start: 0, end: size }] : dataRanges(fd, size)) {
    for (let at = start; at < end; ) {
      const length = readSome(fd, firstBuffer, { at, size: end - at, label });
      if (length === 0) return;
      visit(firstBuffer.bytes.subarray(0, length), at);
      at += length;
    }
  }
}

/** The digest (content-digest.ts) of an open file. */
export function digestOfFile(fd: number, label: string): string {
  const { size } = factsOfOpen(fd, label);
  const digest = new ContentDigest();
  readData(fd, size, label, (bytes, at) => digest.add(bytes, at));
  return digest.end(size);
}

/** Whether two open files hold the same bytes. Most files are short; for those, only the bytes are read. */
export function sameData(a: number, b: number, label: string): boolean {
  const length = samePiece(a, b, { at: 0, size: PIECE, label });
  if (length === undefined || length < PIECE) return length !== undefined;
  const { size } = factsOfOpen(a, label);
  return factsOfOpen(b, label).size === size && sameRest(a, b, size, label);
}

function sameRest(a: number, b: number, size: number, label: string): boolean {
  let [inA, inB]: (DataRange | undefined)[] = [undefined, undefined];
  for (let at = PIECE; ; ) {
    if (inA === undefined || inA.end <= at) inA = nextData(a, at, size);
    if (inB === undefined || inB.end <= at) inB = nextData(b, at, size);
    // Where neither file has data, both have zeros.
    const start = Math.max(at, Math.min(inA?.start ?? size, inB?.start ?? size));
    if (start >= size) return true;
    const end = Math.min(
      ...[inA, inB].flatMap((range) => (range !== undefined && range.start <= start ? [range.end] : [])),
    );
    at = start + Math.min(PIECE, end - start);
    if (samePiece(a, b, { at: start, size: at - start, label }) === undefined) return false;
  }
}

/** A part of a file, and what errors call the file. */
interface Piece {
  readonly at: number;
  readonly size: number;
  readonly label: string;
}

/** How many bytes both files have there; fewer than asked only where both end. Undefined if they differ. */
function samePiece(a: number, b: number, piece: Piece): number | undefined {
  firstBuffer ??= new PinnedBuffer(PIECE);
  secondBuffer ??= new PinnedBuffer(PIECE);
  const length = readFully(a, firstBuffer, piece);
  if (readFully(b, secondBuffer, piece) !== length) return undefined;
  const isSame = firstBuffer.bytes.compare(secondBuffer.bytes, 0, length, 0, length) === 0;
  return isSame ? length : undefined;
}

function readFully(fd: number, buffer: PinnedBuffer, { at, size, label }: Piece): number {
  let total = 0;
  while (total < size) {
    const length = check(calls.pread(fd, buffer.address + total, size - total, at + total), "read", label);
    if (length === 0) break;
    total += length;
  }
  return total;
}

function readSome(fd: number, buffer: PinnedBuffer, { at, size, label }: Piece): number {
  return check(calls.pread(fd, buffer.address, Math.min(PIECE, size), at), "read", label);
}
