import { statfsSync } from "node:fs";
import { bytesFromPath } from "../core/byte-path.ts";

/** How many bytes this user can still write to the file system of a path. */
export function freeRoom(path: string): number {
  const { bavail, bsize } = statfsSync(bytesFromPath(path));
  return bavail * bsize;
}
