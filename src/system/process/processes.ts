import { closeSync, constants, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { pathFromBytes } from "../../core/paths/byte-path.ts";
import { failedWith, unlessFailed } from "../calls/errno.ts";

/** The processes of this machine, as /proc shows them. */

/** The pids of the processes that this user sees, as names in /proc. */
export function processIds(): string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
}

/** The links of a process that can hold something: its folders and open files, as names below /proc/PID. */
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
 * The kernel does not name paths longer than a page. The nearest ancestor that it names tells the location as
 * well.
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

/** Opens the parent of a folder; undefined for anything else, because only folders have a parent entry. */
function openAbove(link: string): number | undefined {
  const flags = constants.O_RDONLY | constants.O_DIRECTORY;
  return unlessFailed([...GONE_OR_NOT_OURS, "ENOTDIR"], () => openSync(`${link}/..`, flags));
}

/**
 * A file in /proc of a process, each byte as one character; undefined if the process has ended, or this user
 * may not look at it.
 */
export function readIfThere(path: string): string | undefined {
  return unlessFailed(GONE_OR_NOT_OURS, () => readFileSync(path, "latin1"));
}

/** The name of the process of ours that renames folders for a command, beside it in its namespaces. */
export const SUPERVISOR_NAME = "drydock-renamer";

/** The name that a process has given itself. */
export function commandOf(pid: string): string {
  const name = readIfThere(`/proc/${pid}/comm`);
  return name === undefined ? "a process that has ended" : Buffer.from(name, "latin1").toString().trim();
}

/** At any moment a process may end, or become unreadable for this user. */
export const GONE_OR_NOT_OURS: readonly string[] = ["ENOENT", "ESRCH", "EACCES", "EPERM", "EINVAL"];

/** The fields of /proc/PID/stat from the state on; undefined if there is no such process. */
export function statFields(pid: number | string): readonly string[] | undefined {
  const stat = unlessFailed(["ENOENT", "ESRCH"], () => readFileSync(`/proc/${pid}/stat`, "latin1"));
  // The name of the command is in parentheses and may contain anything, so fields count from the last
  // parenthesis.
  return stat?.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/**
 * The children of a process, the oldest first. Orphans that it adopted come after the children it had before.
 */
export function childrenOf(pid: number): readonly number[] {
  const children = readIfThere(`/proc/${pid}/task/${pid}/children`);
  if (children !== undefined) return children.split(" ").filter(Boolean).map(Number);
  // The process is gone, or the kernel was built without that file.
  return processIds()
    .filter((name) => Number(statFields(name)?.[1]) === pid)
    .map(Number);
}

/**
 * The limit of open files that a program would inherit if Node had not raised ours: that of our parent
 * process. Undefined if it can't be read.
 */
export function inheritedFileLimit(): number | undefined {
  const limits = readIfThere(`/proc/${process.ppid}/limits`) ?? "";
  const soft = /^Max open files\s+(\d+)/m.exec(limits)?.[1];
  return soft === undefined ? undefined : Number(soft);
}
