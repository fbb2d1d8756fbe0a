import type { EntryKind, Facts } from "../../system/calls/facts.ts";

/**
 * The columns of a baseline (baseline.ts): each entry has a row of floats, F, and a row of 32-bit words, U.
 * Columns named `copy…` describe the copy, all others the original. A time has its seconds among the floats
 * and its nanoseconds (`…Ns`) among the words.
 */
export const F = {
  ino: 0,
  btime: 1,
  size: 2,
  mtime: 3,
  copyIno: 4,
  copyCtime: 5,
  ctime: 6,
  copyBtime: 7,
} as const;
export const F_COLUMNS = 8;
export const U = {
  mode: 0,
  uid: 1,
  gid: 2,
  nlink: 3,
  btimeNs: 4,
  mtimeNs: 5,
  copyMode: 6,
  copyUid: 7,
  copyGid: 8,
  copyCtimeNs: 9,
  nameAt: 10,
  nameLength: 11,
  block: 12,
  ctimeNs: 13,
  copyBtimeNs: 14,
} as const;
export const U_COLUMNS = 15;
/** The block number of an entry that is not a folder. */
export const NO_BLOCK = 0xffffffff;

export const TYPE_BITS: { readonly [kind in EntryKind]: number } = {
  file: 0o100000,
  directory: 0o040000,
  symlink: 0o120000,
  fifo: 0o010000,
  socket: 0o140000,
  device: 0o020000,
  "block-device": 0o060000,
};

/** Writes the facts of the original into the row of this entry. */
export function writeOriginal(
  floats: Float64Array,
  words: Uint32Array,
  index: number,
  original: Facts,
): void {
  const f = index * F_COLUMNS;
  const u = index * U_COLUMNS;
  floats[f + F.ino] = original.ino;
  floats[f + F.btime] = original.btime[0];
  floats[f + F.size] = original.size;
  floats[f + F.mtime] = original.mtime[0];
  words[u + U.mode] = TYPE_BITS[original.kind] | original.mode;
  words[u + U.uid] = original.uid;
  words[u + U.gid] = original.gid;
  words[u + U.nlink] = original.nlink;
  words[u + U.btimeNs] = original.btime[1];
  words[u + U.mtimeNs] = original.mtime[1];
  floats[f + F.ctime] = original.ctime[0];
  words[u + U.ctimeNs] = original.ctime[1];
}

/** Writes the facts of the copy into the row of this entry. */
export function writeCopy(floats: Float64Array, words: Uint32Array, index: number, copy: Facts): void {
  const f = index * F_COLUMNS;
  const u = index * U_COLUMNS;
  floats[f + F.copyIno] = copy.ino;
  floats[f + F.copyCtime] = copy.ctime[0];
  words[u + U.copyCtimeNs] = copy.ctime[1];
  floats[f + F.copyBtime] = copy.btime[0];
  words[u + U.copyBtimeNs] = copy.btime[1];
  words[u + U.copyMode] = TYPE_BITS[copy.kind] | copy.mode;
  words[u + U.copyUid] = copy.uid;
  words[u + U.copyGid] = copy.gid;
}

/** The bytes of an array, as the file holds them. */
export function bytesOf(array: Float64Array | Uint32Array): Buffer {
  return Buffer.from(array.buffer, array.byteOffset, array.byteLength);
}

/**
 * The arguments of a typed array over these bytes, with elements of `size` bytes: the bytes themselves if
 * they are aligned, otherwise a copy.
 */
export function aligned(
  bytes: Buffer,
  size: number,
): [buffer: ArrayBufferLike, offset: number, length: number] {
  if (bytes.byteOffset % size === 0) return [bytes.buffer, bytes.byteOffset, bytes.length / size];
  const copy = new Uint8Array(bytes);
  return [copy.buffer, 0, copy.length / size];
}
