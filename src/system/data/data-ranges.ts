import { calls, lastErrno } from "../calls/native.ts";

/**
 * Where a file holds data, and where nothing but a hole, which reads as zeros and costs nothing. A file of a
 * terabyte may hold a few bytes: whoever reads, copies or compares files goes by these ranges. Both calls
 * move the position of the descriptor.
 */
const SEEK_DATA = 3;
const SEEK_HOLE = 4;
const ENXIO = 6;

/** The ends are exclusive. */
export interface DataRange {
  readonly start: number;
  readonly end: number;
}

/**
 * The first data at or after `from`, up to `size`; undefined if there is only a hole. A file system that
 * can't tell has data everywhere.
 */
export function nextData(fd: number, from: number, size: number): DataRange | undefined {
  if (from >= size) return undefined;
  const found = calls.lseek(fd, from, SEEK_DATA);
  if (found < 0 && lastErrno() === ENXIO) return undefined;
  const start = found < 0 ? from : found;
  if (start >= size) return undefined;
  const hole = calls.lseek(fd, start, SEEK_HOLE);
  return { start, end: hole <= start ? size : Math.min(hole, size) };
}

/** All of them, in order. */
export function* dataRanges(fd: number, size: number): Generator<DataRange> {
  for (let range = nextData(fd, 0, size); range !== undefined; range = nextData(fd, range.end, size))
    yield range;
}
