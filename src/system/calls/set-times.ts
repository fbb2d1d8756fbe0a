import { type Facts, lastFacts, sameTime, statInto } from "./facts.ts";
import { AT_SYMLINK_NOFOLLOW, calls, PinnedBuffer, pathPointer } from "./native.ts";

const UTIME_OMIT = 0x3ffffffe;
let timeWords: { readonly address: number; readonly words: Int32Array } | undefined;

/** The times that an entry gets. An undefined one stays unchanged. */
export interface NewTimes {
  readonly atime?: Facts["atime"];
  readonly mtime?: Facts["mtime"];
}

/**
 * Sets the times of a name in a folder; -1 on failure. Some file systems of programs (FUSE) set both times or
 * none, so there the time that stays is set too.
 */
export function setTimesAt(folder: number, name: string, { atime, mtime }: NewTimes): number {
  const set = (access: NewTimes["atime"]) =>
    calls.utimensat(folder, pathPointer(name), timesPointer(access, mtime), AT_SYMLINK_NOFOLLOW);
  const result = set(atime);
  if (result < 0 || mtime === undefined || atime !== undefined) return result;
  if (statInto(folder, pathPointer(name)) < 0) return result;
  const now = lastFacts();
  return sameTime(now.mtime, mtime) ? result : set(now.atime);
}

/** The address of two struct timespec, each of two 64-bit numbers. */
function timesPointer(atime: Facts["atime"] | undefined, mtime: Facts["mtime"] | undefined): number {
  timeWords ??= newTimeWords();
  writeTime(timeWords.words, 0, atime);
  writeTime(timeWords.words, 4, mtime);
  return timeWords.address;
}

function newTimeWords(): { readonly address: number; readonly words: Int32Array } {
  const { bytes, address } = new PinnedBuffer(32);
  return { address, words: new Int32Array(bytes.buffer, bytes.byteOffset, 8) };
}

/** Seconds before 1970 are negative, and so is their upper half. */
function writeTime(words: Int32Array, at: number, time: Facts["mtime"] | undefined): void {
  const seconds = time?.[0] ?? 0;
  words[at] = seconds % 0x1_0000_0000;
  words[at + 1] = Math.floor(seconds / 0x1_0000_0000);
  words[at + 2] = time?.[1] ?? UTIME_OMIT;
  words[at + 3] = 0;
}
