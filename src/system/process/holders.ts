import { constants, openSync } from "node:fs";
import { bytesFromPath } from "../../core/paths/byte-path.ts";
import { failedWith } from "../calls/errno.ts";
import { isOpenForWriting } from "../data/file-data.ts";
import { closeUnlessLocked } from "../data/locked-files.ts";
import { commandOf, linksOf, processIds, readIfThere, readLinkIfThere } from "./processes.ts";

/** A process that has a path open, or works in it. */
export interface Holder {
  readonly pid: number;
  readonly command: string;
  /** The path, as the kernel names it. */
  readonly path: string;
}

/**
 * Processes that work in a folder below this path or have one open: they could make files in it wherever it
 * is moved. Sees only processes that this user may look at.
 */
export function folderHolders(below: string): Holder[] {
  return otherHolders((path) => path === below || path.startsWith(`${below}/`));
}

/**
 * Other processes that have one of these files open for writing. Sees only processes that this user may look
 * at.
 */
export function fileWriters(paths: readonly string[]): Holder[] {
  // Usually the kernel knows at once that there are none, which avoids reading the open files of all
  // processes.
  const wanted = new Set(paths.filter(mayBeWritten));
  if (wanted.size === 0) return [];
  return otherHolders((path, pid, link) => wanted.has(path) && isForWriting(pid, link));
}

/**
 * The matching paths that other processes hold. `matches` gets the path, and the process and link
 * (processes.ts) that hold it.
 */
function otherHolders(matches: (path: string, pid: string, link: string) => boolean): Holder[] {
  const others = processIds().filter((pid) => Number(pid) !== process.pid);
  return others.flatMap((pid) =>
    linksOf(pid).flatMap((link) => {
      const path = readLinkIfThere(`/proc/${pid}/${link}`);
      if (path === undefined || !matches(path, pid, link)) return [];
      return [{ pid: Number(pid), command: commandOf(pid), path }];
    }),
  );
}

function mayBeWritten(path: string): boolean {
  try {
    const fd = openSync(
      bytesFromPath(path),
      constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK,
    );
    try {
      return isOpenForWriting(fd);
    } finally {
      closeUnlessLocked(fd);
    }
  } catch (thrown) {
    return !failedWith(thrown, "ENOENT");
  }
}

/** The last two bits of `flags` are the access mode: 0 is read-only. */
function isForWriting(pid: string, link: string): boolean {
  if (!link.startsWith("fd/")) return false;
  const info = readIfThere(`/proc/${pid}/${link.replace("fd/", "fdinfo/")}`) ?? "";
  const flags = /^flags:\s+([0-7]+)$/m.exec(info)?.[1] ?? "0";
  return (Number.parseInt(flags, 8) & 0o3) !== 0;
}
