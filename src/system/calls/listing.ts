import { pathFromBytes } from "../../core/paths/byte-path.ts";
import { calls, check, PinnedBuffer } from "./native.ts";

/**
 * Lists the names in a folder (getdents64). The kernel returns a row of struct linux_dirent64: inode, 64
 * bits; position, 64; length of the record, 16; kind, 8; the name, ending with NUL.
 */
const DENTS_BYTES = 64 * 1024;
const freeListings: PinnedBuffer[] = [];

/** The parts of a folder that a listing needs. */
interface Listable {
  readonly fd: number;
  readonly path: string;
  beginListing(): void;
}

/**
 * Called for a name in a listing: the bytes from `start` to `end`, and their address, NUL-terminated. Valid
 * during the call.
 */
type ListedName = (bytes: Buffer, start: number, end: number, namePointer: number) => void;

/**
 * Reads a folder's names. `visit` also gets the address of the name, valid during the call, so a stat needs
 * no copy.
 */
export function readNames(folder: Listable, visit: (name: string, namePointer: number) => void): void {
  readNameBytes(folder, (bytes, start, end, pointer) => visit(nameFrom(bytes, start, end), pointer));
}

/**
 * Like `readNames`, but without making strings, for callers that compare a hundred thousand names. Listings
 * may be nested, so each has its own buffer.
 */
export function readNameBytes(folder: Listable, visit: ListedName): void {
  for (const _ of nameBlocks(folder, visit));
}

/**
 * Like `readNameBytes`, and yields after each block of names: a folder may have a million. Nothing else may
 * list the folder meanwhile by the same descriptor.
 */
export function* nameBlocks(folder: Listable, visit: ListedName): Generator<void> {
  const buffer = freeListings.pop() ?? new PinnedBuffer(DENTS_BYTES);
  const { bytes, address } = buffer;
  folder.beginListing();
  try {
    for (;;) {
      const length = check(calls.getdents64(folder.fd, address, DENTS_BYTES), "readdir", folder.path);
      if (length === 0) return;
      for (let at = 0; at < length; ) {
        const size = (bytes[at + 16] as number) | ((bytes[at + 17] as number) << 8);
        const start = at + 19;
        let end = start;
        while (bytes[end] !== 0) end += 1;
        const first = bytes[start];
        const isDot = first === 46 && (end - start === 1 || (end - start === 2 && bytes[start + 1] === 46));
        if (!isDot) visit(bytes, start, end, address + start);
        at += size;
      }
      yield;
    }
  } finally {
    freeListings.push(buffer);
  }
}

/** Most names are ASCII; reading those as Latin-1 gives the same string ten times faster. */
export function nameFrom(bytes: Buffer, start: number, end: number): string {
  for (let at = start; at < end; at += 1) {
    if ((bytes[at] as number) > 0x7f) return pathFromBytes(bytes.subarray(start, end));
  }
  return bytes.toString("latin1", start, end);
}

const INODE_BEFORE_NAME = 19;
const TYPE_BEFORE_NAME = 1;
const DT_DIR = 4;

/** The inode number in a listing (readNameBytes) for the name that starts here. Keeps the low 53 bits. */
export function listedInode(bytes: Buffer, start: number): number {
  const at = start - INODE_BEFORE_NAME;
  return (bytes.readUInt32LE(at + 4) & 0x1fffff) * 0x1_0000_0000 + bytes.readUInt32LE(at);
}

/**
 * Whether a listing says that the name which starts here is a folder. Only for file systems that report kinds
 * in listings.
 */
export function isListedFolder(bytes: Buffer, start: number): boolean {
  return bytes[start - TYPE_BEFORE_NAME] === DT_DIR;
}
