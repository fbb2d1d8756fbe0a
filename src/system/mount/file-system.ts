import { statfsSync } from "node:fs";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import type { Folder } from "../calls/folder.ts";

const OVERLAYFS = 0x794c7630;

/** How many bytes this user can still write to the file system of a path. */
export function freeRoom(path: string): number {
  const { bavail, bsize } = statfsSync(bytesFromPath(path));
  return bavail * bsize;
}

/** How many bytes are in use on the file system of a path. */
export function usedRoom(path: string): number {
  const { blocks, bfree, bsize } = statfsSync(bytesFromPath(path));
  return (blocks - bfree) * bsize;
}

/** Whether a folder is on an overlay, as the root of most containers is. */
export function isOnOverlay(folder: Folder): boolean {
  return statfsSync(`/proc/self/fd/${folder.fd}`).type === OVERLAYFS;
}
