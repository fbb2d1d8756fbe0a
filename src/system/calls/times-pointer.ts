import type { Facts } from "./facts.ts";
import { PinnedBuffer } from "./native.ts";

const UTIME_OMIT = 0x3ffffffe;
let timeWords: { readonly address: number; readonly words: Int32Array } | undefined;

/** The address of two struct timespec, each of two 64-bit numbers. */
export function timesPointer(atime: Facts["atime"] | undefined, mtime: Facts["mtime"] | undefined): number {
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
