import { type Facts, sameTime } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import { readEntry } from "../tree/open-parent.ts";

/** What the original has at a path, as another writer left it. */
export interface OriginalEntry {
  readonly path: string;
  /** Absent: nothing is there. */
  readonly there?: { readonly facts: Facts; readonly xattrs: Xattrs; readonly target?: string };
}

/** The original's entry at a path now; of a folder, without what is in it. */
export function originalEntry(original: Folder, path: string): OriginalEntry {
  const there = readEntry(original, path, (parent, name, facts) => ({
    facts,
    xattrs: readXattrs(parent, name),
    ...(facts.kind === "symlink" && { target: parent.readLink(name) }),
  }));
  return { path, ...(there !== undefined && { there }) };
}

/** Whether an entry of the original is still as it was read. */
export function isUnchanged(original: Folder, { path, there }: OriginalEntry): boolean {
  const now = original.factsBelow(path);
  if (now === undefined || there === undefined) return now === there?.facts;
  return now.ino === there.facts.ino && sameTime(now.ctime, there.facts.ctime);
}
