import { commandOf, linksOf, processIds, readLinkIfThere } from "./processes.ts";

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
