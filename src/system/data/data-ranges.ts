import { calls, lastErrno } from "../calls/native.ts";

/**
 * Where a file has data and where it has holes, which read as zeros and take no room. A file of a terabyte
 * may have a few bytes of data, so code that reads, copies or compares files goes by these ranges. Both
 * functions move the position of the descriptor.
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
 * The first data at or after `from`, up to `size`; undefined if there is only a hole. On a file system that
 * can't tell, everything is data.
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

/** All data ranges, in order. */
export function* dataRanges(fd: number, size: number): Generator<DataRange> {
  for (let range = nextData(fd, 0, size); range !== undefined; range = nextData(fd, range.end, size))
    yield range;
}
