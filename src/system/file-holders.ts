import { readdirSync, readFileSync } from "node:fs";
import { commandOf, type Holder, isGoneOrNotOurs, readLinkIfThere } from "./holders.ts";

const WRITING = 0o3;

/** Other processes that have one of these files open for writing. Only processes that the user may look at are seen. */
export function fileWriters(paths: readonly string[]): Holder[] {
  const wanted = new Set(paths);
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid);
  return pids.flatMap((pid) =>
    descriptorsOf(pid).flatMap((fd) => {
      const path = readLinkIfThere(`/proc/${pid}/fd/${fd}`);
      if (path === undefined || !wanted.has(path) || !isForWriting(pid, fd)) return [];
      return [{ pid: Number(pid), command: commandOf(pid), path }];
    }),
  );
}

function descriptorsOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch (thrown) {
    if (isGoneOrNotOurs(thrown)) return [];
    throw thrown;
  }
}

function isForWriting(pid: string, fd: string): boolean {
  try {
    const flags = /^flags:\s+([0-7]+)$/m.exec(readFileSync(`/proc/${pid}/fdinfo/${fd}`, "latin1"))?.[1] ?? "0";
    return (Number.parseInt(flags, 8) & WRITING) !== 0;
  } catch (thrown) {
    if (isGoneOrNotOurs(thrown)) return false;
    throw thrown;
  }
}
