import type { ChangeFacts, ChangeKind } from "../../core/change.ts";
import { type EntryKind, type Facts, isoTime } from "../../system/calls/facts.ts";

export function kindOfChange(kind: EntryKind): ChangeKind {
  return kind === "block-device" ? "device" : kind;
}

/**
 * The facts of one side that people see and its own record tells. Only the size of a file is meaningful, and
 * a link has no mode of its own.
 */
export function shownFacts(
  facts: Pick<Facts, "kind" | "mode" | "uid" | "gid" | "size" | "mtime">,
): ChangeFacts {
  return {
    ...(facts.kind === "file" && { size: facts.size }),
    ...(facts.kind !== "symlink" && { mode: facts.mode }),
    uid: facts.uid,
    gid: facts.gid,
    mtime: isoTime(facts.mtime),
  };
}
