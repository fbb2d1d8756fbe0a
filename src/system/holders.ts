import { closeSync, constants, openSync, readdirSync, readFileSync, readlinkSync } from "node:fs";
import { pathFromBytes } from "../core/byte-path.ts";
import { failedWith } from "./errno.ts";

/** A process that has something open, or works in it. */
export interface Holder {
  readonly pid: number;
  readonly command: string;
  /** What it holds, as the kernel names it. */
  readonly path: string;
}

/**
 * Processes that work in a folder below this path or have one open: they could make files in it wherever it is moved to. Only
 * processes that the user may look at are seen.
 */
export function folderHolders(below: string): Holder[] {
  const holders: Holder[] = [];
  for (const pid of processIds().filter((pid) => Number(pid) !== process.pid)) {
    for (const link of linksOf(pid)) {
      const path = readLinkIfThere(`/proc/${pid}/${link}`);
      if (path !== undefined && (path === below || path.startsWith(`${below}/`)))
        holders.push({ pid: Number(pid), command: commandOf(pid), path });
    }
  }
  return holders;
}

/** The processes that this user sees, as they are called in /proc. */
export function processIds(): string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
}

/** Where a process can hold something: its folders and all that it has open, as names below /proc/PID. */
export function linksOf(pid: string): string[] {
  try {
    return ["cwd", "root", ...readdirSync(`/proc/${pid}/fd`).map((fd) => `fd/${fd}`)];
  } catch (thrown) {
    if (isGoneOrNotOurs(thrown)) return ["cwd", "root"];
    throw thrown;
  }
}

export function readLinkIfThere(path: string): string | undefined {
  try {
    return pathFromBytes(readlinkSync(path, { encoding: "buffer" }));
  } catch (thrown) {
    if (failedWith(thrown, "ENAMETOOLONG")) return nearestNamed(path);
    if (isGoneOrNotOurs(thrown)) return undefined;
    throw thrown;
  }
}

/** The kernel names nothing whose path is longer than a page. The nearest folder above that it names tells as well where it is. */
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
  try {
    return openSync(`${link}/..`, constants.O_RDONLY | constants.O_DIRECTORY);
  } catch (thrown) {
    if (isGoneOrNotOurs(thrown) || failedWith(thrown, "ENOTDIR")) return undefined;
    throw thrown;
  }
}

/** What a process calls itself. */
export function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim();
  } catch (thrown) {
    if (isGoneOrNotOurs(thrown)) return "a process that has ended";
    throw thrown;
  }
}

/** A process may end, or not be ours to look at, at any moment. */
export function isGoneOrNotOurs(thrown: unknown): boolean {
  return failedWith(thrown, "ENOENT", "ESRCH", "EACCES", "EPERM", "EINVAL");
}
