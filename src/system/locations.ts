import { openSync, readSync } from "node:fs";
import { bytesFromPath } from "../core/byte-path.ts";
import { type Facts, factsAt } from "./facts.ts";
import { closeUnlessLocked } from "./locked-files.ts";
import { AT_FDCWD } from "./native.ts";

/** The facts of what is at an absolute path, the last name not followed. */
export function factsOfPath(path: string): Facts | undefined {
  return factsAt(AT_FDCWD, path, path);
}

/** The first bytes of a file, for telling what it is. */
export function firstBytes(path: string, count: number): Buffer {
  const fd = openSync(bytesFromPath(path), "r");
  try {
    const buffer = Buffer.alloc(count);
    return buffer.subarray(0, readSync(fd, buffer, 0, count, 0));
  } finally {
    closeUnlessLocked(fd);
  }
}
