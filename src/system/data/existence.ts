import { lstatSync, readdirSync, statSync } from "node:fs";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../calls/errno.ts";

/** The names in a folder of our own; none if it is not there. */
export function namesIn(path: string): string[] {
  return unlessFailed(["ENOENT"], () => readdirSync(bytesFromPath(path))) ?? [];
}

/** Whether there is something at this path that this user can see, a link that leads nowhere included. */
export function isThere(path: string): boolean {
  try {
    lstatSync(bytesFromPath(path));
    return true;
  } catch {
    // Whatever keeps us from seeing it, there is nothing that we could use.
    return false;
  }
}

/** Whether there is a regular file at this path, or behind a link there. */
export function isFile(path: string): boolean {
  try {
    return statSync(bytesFromPath(path), { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    // Whatever keeps us from seeing it, there is nothing that we could use.
    return false;
  }
}
