import { failedWith } from "../calls/errno.ts";
import type { Folder } from "../calls/folder.ts";
import { calls, check } from "../calls/native.ts";
import { mayMountOnMachine } from "../mount/privilege.ts";

/**
 * Finds the changes in a subvolume since a commit, without a walk. Each commit of btrfs has a number, and
 * each block of its trees and each inode item holds the number of its last write. A search skips whole
 * blocks that are older. Only root of the machine may search.
 *
 * Arguments of the ioctls (linux/btrfs.h, linux/btrfs_tree.h), little-endian, at these offsets:
 *   START_SYNC, WAIT_SYNC  u64 the commit
 *   GET_SUBVOL_INFO        u64 the commit in which it was made, at 352
 *   TREE_SEARCH_V2         u64 tree (0: this one); u64 objectid min at 8, max at 16; u64 offset min at 24,
 *                          max at 32; u64 commit min at 40, max at 48; u32 type min at 56, max at 60;
 *                          u32 items at 64; u64 bytes for them at 104; the items at 112
 *   an item                u64 commit; u64 objectid; u64 offset; u32 type; u32 length; then its content
 *   an inode item          u64 generation; u64 the commit in which it was written last
 *   an inode reference     its offset is the inode of the folder
 *   an extended one        any number of: u64 inode of the folder; u64 index; u16 length of the name; the
 *                          name
 */
const START_SYNC = 0x80089418;
const WAIT_SYNC = 0x40089416;
const GET_SUBVOL_INFO = 0x81f8943c;
const TREE_SEARCH_V2 = 0xc0709411;
const ROOT_INODE = 256;
const INODE_ITEM = 1;
const INODE_REF = 12;
const INODE_EXTREF = 13;
const LAST_NUMBER = 0xffff_ffff_ffff_ffffn;
const LAST_TYPE = 255;
const ITEMS_AT = 112;
const ITEM_HEADER = 32;
const BUFFER_BYTES = 64 * 1024;
/** Beyond this many, a walk is no slower. */
const MOST_INODES = 50_000;

/** The key of an item in a tree. */
interface Key {
  readonly objectid: bigint;
  readonly type: number;
  readonly offset: bigint;
}

/** Called for each item; `content` is valid during the call. */
type Visit = (key: Key, content: Buffer) => void;

/** The commit in which a snapshot was made. Everything written in a later commit was changed since. */
export function commitOf(snapshot: Folder): bigint {
  const info = Buffer.alloc(504);
  check(calls.ioctlBuffer(snapshot.fd, GET_SUBVOL_INFO, info), "look up the subvolume", snapshot.path);
  return info.readBigUInt64LE(352);
}

/**
 * The inode numbers of everything in a subvolume that was touched after this commit, and of every folder
 * above one of its names. Undefined if this user may not search, or there are too many. The set may contain
 * too much (entries that were only read, on some mounts), never too little.
 */
export function inodesTouchedSince(subvolume: Folder, commit: bigint): ReadonlySet<number> | undefined {
  if (!mayMountOnMachine()) return undefined;
  writeTrees(subvolume);
  const touched = new Set<number>();
  const from = { objectid: BigInt(ROOT_INODE), type: 0, offset: 0n };
  const to = { objectid: LAST_NUMBER, type: LAST_TYPE, offset: LAST_NUMBER };
  search(subvolume, { from, to, commit: commit + 1n }, ({ objectid, type }, content) => {
    if (type === INODE_ITEM && content.readBigUInt64LE(8) > commit) touched.add(Number(objectid));
  });
  if (touched.size > MOST_INODES) return undefined;
  return new Set([...touched, ...foldersAbove(subvolume, touched)]);
}

/**
 * Recent changes are not in the trees before the next commit, so this waits for one. Contents of files need
 * not be on disk.
 */
function writeTrees(subvolume: Folder): void {
  const commit = Buffer.alloc(8);
  check(calls.ioctlBuffer(subvolume.fd, START_SYNC, commit), "commit", subvolume.path);
  try {
    check(calls.ioctlBuffer(subvolume.fd, WAIT_SYNC, commit), "commit", subvolume.path);
  } catch (thrown) {
    // The commit had already finished.
    if (!failedWith(thrown, "EINVAL")) throw thrown;
  }
}

function foldersAbove(subvolume: Folder, inodes: Iterable<number>): ReadonlySet<number> {
  const above = new Set<number>();
  const waiting = [...inodes];
  for (let inode = waiting.pop(); inode !== undefined; inode = waiting.pop())
    for (const folder of foldersOf(subvolume, inode)) {
      if (above.has(folder)) continue;
      above.add(folder);
      waiting.push(folder);
    }
  return above;
}

/** The folders in which an inode has names. For the root that is the root itself. */
function foldersOf(subvolume: Folder, inode: number): number[] {
  const objectid = BigInt(inode);
  const folders: number[] = [];
  const [from, to] = [
    { objectid, type: INODE_REF, offset: 0n },
    { objectid, type: INODE_EXTREF, offset: LAST_NUMBER },
  ];
  search(subvolume, { from, to, commit: 0n }, ({ type, offset }, content) => {
    if (type === INODE_REF) folders.push(Number(offset));
    else
      for (let at = 0; at < content.length; at += 18 + content.readUInt16LE(at + 16))
        folders.push(Number(content.readBigUInt64LE(at)));
  });
  return folders;
}

interface Search {
  readonly from: Key;
  readonly to: Key;
  readonly commit: bigint;
}

/**
 * Visits all items in a range that are in blocks written in this commit or a later one, and possibly others.
 */
function search(subvolume: Folder, { from, to, commit }: Search, visit: Visit): void {
  const answer = Buffer.alloc(BUFFER_BYTES);
  for (let next: Key | undefined = from; next !== undefined; ) {
    ask(answer, next, to, commit);
    check(calls.ioctlBuffer(subvolume.fd, TREE_SEARCH_V2, answer), "search", subvolume.path);
    next = after(visitAll(answer, visit));
  }
}

function ask(request: Buffer, from: Key, to: Key, commit: bigint): void {
  request.fill(0, 0, ITEMS_AT);
  const numbers = [0n, from.objectid, to.objectid, from.offset, to.offset, commit, LAST_NUMBER];
  for (const [at, number] of numbers.entries()) request.writeBigUInt64LE(number, at * 8);
  for (const [at, number] of [from.type, to.type, BUFFER_BYTES].entries())
    request.writeUInt32LE(number, 56 + at * 4);
  request.writeBigUInt64LE(BigInt(BUFFER_BYTES - ITEMS_AT), 104);
}

/** Returns the key of the last item; undefined if there is none. */
function visitAll(answer: Buffer, visit: Visit): Key | undefined {
  let last: Key | undefined;
  let at = ITEMS_AT;
  for (let left = answer.readUInt32LE(64); left > 0; left -= 1) {
    const end = at + ITEM_HEADER + answer.readUInt32LE(at + 28);
    last = {
      objectid: answer.readBigUInt64LE(at + 8),
      offset: answer.readBigUInt64LE(at + 16),
      type: answer.readUInt32LE(at + 24),
    };
    visit(last, answer.subarray(at + ITEM_HEADER, end));
    at = end;
  }
  return last;
}

/** The key right after that of an item. */
function after(key: Key | undefined): Key | undefined {
  if (key === undefined) return undefined;
  if (key.offset < LAST_NUMBER) return { ...key, offset: key.offset + 1n };
  return key.type < LAST_TYPE
    ? { objectid: key.objectid, type: key.type + 1, offset: 0n }
    : { objectid: key.objectid + 1n, type: 0, offset: 0n };
}
