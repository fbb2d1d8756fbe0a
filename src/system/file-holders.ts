import { constants, openSync, readdirSync, readFileSync } from "node:fs";
import { bytesFromPath } from "../core/byte-path.ts";
import { failedWith } from "./errno.ts";
import { isOpenForWriting } from "./file-data.ts";
import { commandOf, type Holder, isGoneOrNotOurs, processIds, readLinkIfThere } from "./holders.ts";
import { closeUnlessLocked } from "./locked-files.ts";

const WRITING = 0o3;

/** Other processes that have one of these files open for writing. Only processes that the user may look at are seen. */
export function fileWriters(paths: readonly string[]): Holder[] {
  // The kernel mostly knows at once that there are none, which spares a look at everything that everybody has open.
  const wanted = new Set(paths.filter(mayBeWritten));
  if (wanted.size === 0) return [];
  const others = processIds().filter((pid) => Number(pid) !== process.pid);
  return others.flatMap((pid) =>
    descriptorsOf(pid).flatMap((fd) => {
      const path = readLinkIfThere(`/proc/${pid}/fd/${fd}`);
      if (path === undefined || !wanted.has(path) || !isForWriting(pid, fd)) return [];
      return [{ pid: Number(pid), command: commandOf(pid), path }];
    }),
  );
}

function mayBeWritten(path: string): boolean {
  try {
    const fd = openSync(bytesFromPath(path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    try {
      return isOpenForWriting(fd);
    } finally {
      closeUnlessLocked(fd);
    }
  } catch (thrown) {
    return !failedWith(thrown, "ENOENT");
  }
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
