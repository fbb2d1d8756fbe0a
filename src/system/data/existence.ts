import { lstatSync, readdirSync, statSync } from "node:fs";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../calls/errno.ts";

/** The names in a folder of Drydock's own; none if it is missing. */
export function namesIn(path: string): string[] {
  return unlessFailed(["ENOENT"], () => readdirSync(bytesFromPath(path))) ?? [];
}

/** Whether this user can see an entry at this path. A dangling link counts. */
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

/** What tells the file at a path from all others, through links; undefined if it can't be looked at. */
export function fileIdentity(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(bytesFromPath(path), { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    // Whatever keeps us from seeing it, there is nothing that we could use.
    return undefined;
  }
}
