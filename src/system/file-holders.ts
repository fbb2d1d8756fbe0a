import { constants, openSync } from "node:fs";
import { bytesFromPath } from "../core/byte-path.ts";
import { failedWith } from "./errno.ts";
import { isOpenForWriting } from "./file-data.ts";
import type { Holder } from "./holders.ts";
import { closeUnlessLocked } from "./locked-files.ts";
import { commandOf, linksOf, processIds, readIfThere, readLinkIfThere } from "./processes.ts";

const WRITING = 0o3;

/** Other processes that have one of these files open for writing. Only processes that the user may look at are seen. */
export function fileWriters(paths: readonly string[]): Holder[] {
  // The kernel mostly knows at once that there are none, which spares a look at everything that everybody has open.
  const wanted = new Set(paths.filter(mayBeWritten));
  if (wanted.size === 0) return [];
  const others = processIds().filter((pid) => Number(pid) !== process.pid);
  return others.flatMap((pid) =>
    linksOf(pid).flatMap((link) => {
      const path = link.startsWith("fd/") ? readLinkIfThere(`/proc/${pid}/${link}`) : undefined;
      if (path === undefined || !wanted.has(path) || !isForWriting(pid, link)) return [];
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

/** The last bits of `flags` say how it was opened: 0 is for reading alone. */
function isForWriting(pid: string, link: string): boolean {
  const info = readIfThere(`/proc/${pid}/${link.replace("fd/", "fdinfo/")}`) ?? "";
  const flags = /^flags:\s+([0-7]+)$/m.exec(info)?.[1] ?? "0";
  return (Number.parseInt(flags, 8) & WRITING) !== 0;
}
