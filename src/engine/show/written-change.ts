import type { Change } from "../../core/change.ts";
import { type Facts, isoTime } from "../../system/calls/facts.ts";

/** The change that one write has made. */
export function writtenChange(path: string, before: Facts | undefined, after: Facts): Change {
  return {
    path,
    operation: before === undefined ? "added" : "modified",
    kind: "file",
    ...(before !== undefined && { before: factsOf(before) }),
    after: factsOf(after),
  };
}

function factsOf({ size, mode, uid, gid, mtime }: Facts) {
  return { size, mode, uid, gid, mtime: isoTime(mtime) };
}
