import { statfsSync } from "node:fs";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { failedWith, unlessFailed } from "../calls/errno.ts";
import type { Folder } from "../calls/folder.ts";
import { calls, check } from "../calls/native.ts";
import { type Failpoint, passFailpoint } from "../failpoints.ts";
import { mountsBelow } from "../mount/mount-table.ts";

/**
 * Subvolumes of btrfs: trees of their own inside one file system, of which the kernel makes a snapshot in one
 * step, whatever their size. The root of each has inode 256. A subvolume inside another is not part of the
 * other's snapshots: an empty folder is in its place there.
 *
 * Arguments of the ioctls (linux/btrfs.h), little-endian, at these offsets:
 *   SNAP_CREATE_V2      s64 source; u64 transid; u64 flags at 16; name at 56
 *   SNAP_DESTROY        s64 unused; name at 8
 *   GET_SUBVOL_ROOTREF  u64 first id wanted; 255 × (u64 id, u64 folder) at 8; u8 how many at 4088
 *   INO_LOOKUP_USER     u64 folder; u64 id; name[256] at 16; path of the folder, with a slash at its end, at
 *                       272
 */
export const SUBVOLUME_INODE = 256;
const BTRFS = 0x9123683e;
const SNAP_CREATE_V2 = 0x50009417;
const SNAP_DESTROY = 0x5000940f;
const SUBVOL_GETFLAGS = 0x80089419;
const SUBVOL_SETFLAGS = 0x4008941a;
const GET_SUBVOL_ROOTREF = 0xd000943d;
const INO_LOOKUP_USER = 0xd000943e;
const READ_ONLY = 2n;
const ARGUMENT_BYTES = 4096;
const MOST_REFERENCES = 255;

export function isOnBtrfs(folder: Folder): boolean {
  return statfsSync(`/proc/self/fd/${folder.fd}`).type === BTRFS;
}

/** Whether this folder is the root of a subvolume. */
export function isSubvolume(folder: Folder): boolean {
  return folder.ownFacts().ino === SUBVOLUME_INODE && isOnBtrfs(folder);
}

/**
 * Makes a snapshot of a subvolume with its whole content at this instant. The snapshot is on disk when this
 * returns.
 */
export function createSnapshot(
  point: Failpoint,
  subvolume: Folder,
  parent: Folder,
  name: string,
  { readOnly = false }: { readonly readOnly?: boolean } = {},
): void {
  passFailpoint(point);
  const request = Buffer.alloc(ARGUMENT_BYTES);
  request.writeBigInt64LE(BigInt(subvolume.fd), 0);
  request.writeBigUInt64LE(readOnly ? READ_ONLY : 0n, 16);
  bytesFromPath(name).copy(request, 56);
  check(
    calls.ioctlBuffer(parent.fd, SNAP_CREATE_V2, request),
    "snapshot",
    `${subvolume.path} as ${parent.label(name)}`,
  );
}

/** Makes a subvolume read-only, or writable again. */
export function setReadOnly(point: Failpoint, subvolume: Folder, readOnly: boolean): void {
  const flags = Buffer.alloc(8);
  check(calls.ioctlBuffer(subvolume.fd, SUBVOL_GETFLAGS, flags), "read the flags of", subvolume.path);
  const now = flags.readBigUInt64LE(0);
  const wanted = readOnly ? now | READ_ONLY : now & ~READ_ONLY;
  if (wanted === now) return;
  passFailpoint(point);
  flags.writeBigUInt64LE(wanted, 0);
  check(calls.ioctlBuffer(subvolume.fd, SUBVOL_SETFLAGS, flags), "set the flags of", subvolume.path);
}

/**
 * Removes a subvolume in one step, whatever its content. Returns false if the kernel refuses: it is no
 * subvolume, it contains subvolumes or mounts, or this user may not. The caller can then remove it like any
 * folder, name by name: a subvolume that the kernel refused to remove is writable afterwards.
 */
export function deleteSubvolume(point: Failpoint, parent: Folder, name: string): boolean {
  using subvolume = openIfAllowed(parent, name);
  if (subvolume === undefined || !isSubvolume(subvolume) || mountsBelow(parent.label(name)).length > 0)
    return false;
  if (destroy(point, parent, name)) return true;
  setReadOnly(point, subvolume, false);
  return destroy(point, parent, name);
}

function destroy(point: Failpoint, parent: Folder, name: string): boolean {
  passFailpoint(point);
  const request = Buffer.alloc(ARGUMENT_BYTES);
  bytesFromPath(name).copy(request, 8);
  try {
    check(calls.ioctlBuffer(parent.fd, SNAP_DESTROY, request), "delete the subvolume", parent.label(name));
    return true;
  } catch (thrown) {
    if (failedWith(thrown, "EPERM", "EACCES", "EROFS", "ENOTEMPTY")) return false;
    throw thrown;
  }
}

function openIfAllowed(parent: Folder, name: string): Folder | undefined {
  return unlessFailed(["EACCES"], () => parent.openChild(name));
}

/**
 * Paths of the subvolumes directly in this one. A subvolume that this user may not look up is given by its
 * number.
 */
export function nestedSubvolumes(subvolume: Folder): string[] {
  const paths: string[] = [];
  for (let from = 0n; ; ) {
    const found = references(subvolume, from);
    paths.push(...found.flatMap(({ id, folder }) => pathOf(subvolume, id, folder) ?? []));
    const last = found.at(-1);
    if (last === undefined || found.length < MOST_REFERENCES) return paths;
    from = last.id + 1n;
  }
}

/** The first references to subvolumes in this one whose id is at least `from`. */
function references(subvolume: Folder, from: bigint): { readonly id: bigint; readonly folder: bigint }[] {
  const answer = Buffer.alloc(ARGUMENT_BYTES);
  answer.writeBigUInt64LE(from, 0);
  // EOVERFLOW: there are more than fit; the answer holds as many as do.
  unlessFailed(["EOVERFLOW"], () =>
    check(
      calls.ioctlBuffer(subvolume.fd, GET_SUBVOL_ROOTREF, answer),
      "list the subvolumes in",
      subvolume.path,
    ),
  );
  return Array.from({ length: answer.readUInt8(4088) }, (_, at) => ({
    id: answer.readBigUInt64LE(8 + at * 16),
    folder: answer.readBigUInt64LE(16 + at * 16),
  }));
}

/** The path of a subvolume in the one around it; undefined if it is gone. */
function pathOf(subvolume: Folder, id: bigint, folder: bigint): string | undefined {
  const answer = Buffer.alloc(ARGUMENT_BYTES);
  answer.writeBigUInt64LE(folder, 0);
  answer.writeBigUInt64LE(id, 8);
  try {
    check(calls.ioctlBuffer(subvolume.fd, INO_LOOKUP_USER, answer), "find the subvolumes in", subvolume.path);
    return `${cText(answer, 272)}${cText(answer, 16)}`;
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT")) return undefined;
    if (failedWith(thrown, "EACCES", "EPERM")) return `subvolume ${id}`;
    throw thrown;
  }
}

function cText(bytes: Buffer, start: number): string {
  return pathFromBytes(bytes.subarray(start, bytes.indexOf(0, start)));
}
