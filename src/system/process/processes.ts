import { closeSync, constants, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { pathFromBytes } from "../../core/paths/byte-path.ts";
import { failedWith, unlessFailed } from "../calls/errno.ts";

/** The processes of this machine, as /proc shows them. */

/** The processes that this user sees, as they are called in /proc. */
export function processIds(): string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
}

/** Where a process can hold something: its folders and all that it has open, as names below /proc/PID. */
export function linksOf(pid: string): string[] {
  const descriptors = unlessFailed(GONE_OR_NOT_OURS, () => readdirSync(`/proc/${pid}/fd`)) ?? [];
  return ["cwd", "root", ...descriptors.map((fd) => `fd/${fd}`)];
}

export function readLinkIfThere(path: string): string | undefined {
  try {
    return pathFromBytes(readlinkSync(path, { encoding: "buffer" }));
  } catch (thrown) {
    if (failedWith(thrown, "ENAMETOOLONG")) return nearestNamed(path);
    if (failedWith(thrown, ...GONE_OR_NOT_OURS)) return undefined;
    throw thrown;
  }
}

/**
 * The kernel names nothing whose path is longer than a page. The nearest folder above that it names tells as
 * well where it is.
 */
function nearestNamed(link: string): string | undefined {
  const above = openAbove(link);
  if (above === undefined) return undefined;
  try {
    return readLinkIfThere(`/proc/self/fd/${above}`);
  } finally {
    closeSync(above);
  }
}

/** Undefined for what is no folder: only folders have something above them. */
function openAbove(link: string): number | undefined {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  return unlessFailed([...GONE_OR_NOT_OURS, "ENOTDIR"], () => openSync(`${link}/..`, flags));
}

/**
 * A file of a process, each byte as one character; undefined if the process has ended, or is not ours to look
 * at.
 */
export function readIfThere(path: string): string | undefined {
  return unlessFailed(GONE_OR_NOT_OURS, () => readFileSync(path, "latin1"));
}

/** The name that a process has given itself. */
export function commandOf(pid: string): string {
  const name = readIfThere(`/proc/${pid}/comm`);
  return name === undefined ? "a process that has ended" : Buffer.from(name, "latin1").toString().trim();
}

/** A process may end, or not be ours to look at, at any moment. */
export const GONE_OR_NOT_OURS: readonly string[] = ["ENOENT", "ESRCH", "EACCES", "EPERM", "EINVAL"];

/** The fields of /proc/PID/stat from the state on; undefined if there is no such process. */
export function statFields(pid: number | string): readonly string[] | undefined {
  const stat = unlessFailed(["ENOENT", "ESRCH"], () => readFileSync(`/proc/${pid}/stat`, "latin1"));
  // The command's name is in parentheses and may hold anything, so fields count from the last one.
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** The children of a process, the oldest first. Orphans that it took over come after those it had before. */
export function childrenOf(pid: number): readonly number[] {
  const children = readIfThere(`/proc/${pid}/task/${pid}/children`);
  if (children !== undefined) return children.split(" ").filter(Boolean).map(Number);
  // It is gone, or the kernel was built without that file.
  return processIds()
    .filter((name) => Number(statFields(name)?.[1]) === pid)
    .map(Number);
}

/**
 * How many files a program that we start would have open at most if Node had not raised our own limit: as
 * many as the process that started us. Undefined if that can't be known.
 */
export function inheritedFileLimit(): number | undefined {
  const limits = readIfThere(`/proc/${process.ppid}/limits`) ?? "";
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
}
