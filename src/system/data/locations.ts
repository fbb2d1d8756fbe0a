import { openSync, readSync, realpathSync } from "node:fs";
import { bytesFromPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { guarded, MISSING, unlessFailed } from "../calls/errno.ts";
import { type Facts, factsAt, lastFacts, statInto } from "../calls/facts.ts";
import { AT_FDCWD, pathPointer } from "../calls/native.ts";
import { closeUnlessLocked } from "./locked-files.ts";

/** The facts of the entry at an absolute path. A link there is not followed. */
export function factsOfPath(path: string): Facts | undefined {
  return factsAt(AT_FDCWD, path, path);
}

/** The facts of the target of a link in /proc; undefined if the kernel no longer answers. */
export function factsAtLink(link: string): Facts | undefined {
  const FOLLOW = 0;
  return statInto(AT_FDCWD, pathPointer(link), FOLLOW) < 0 ? undefined : lastFacts();
}

/** The path with all links resolved; undefined if nothing is there. */
export function realPathOf(path: string): string | undefined {
  return unlessFailed(MISSING, () =>
    guarded("realpath", path, () =>
      pathFromBytes(realpathSync.native(bytesFromPath(path), { encoding: "buffer" })),
    ),
  );
}

/** The first bytes of a file, to tell its format. */
export function firstBytes(path: string, count: number): Buffer {
  const fd = openSync(bytesFromPath(path), "r");
  try {
    const buffer = Buffer.alloc(count);
    return buffer.subarray(0, readSync(fd, buffer, 0, count, 0));
  } finally {
    closeUnlessLocked(fd);
  }
}
