import { type Facts, isDevice } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import type { CopiedEntry } from "../tree/copy-tree.ts";
import type { BaseFacts } from "./baseline.ts";

/** The current facts of an entry, as a base. */
export function baseFacts(folder: Folder, name: string, facts: Facts): BaseFacts {
  const target = facts.kind === "symlink" ? { target: folder.readLink(name) } : {};
  return entryFacts({ original: facts, xattrs: readXattrs(folder, name), ...target });
}

/** The base facts of an entry that was read before. */
export function entryFacts({ original, xattrs, target }: Omit<CopiedEntry, "path" | "copy">): BaseFacts {
  const { kind, mode, uid, gid, size, nlink, ino, btime, mtime, ctime, rdev } = original;
  return {
    ...{ kind, mode, uid, gid, size, nlink, ino, btime, mtime, ctime, xattrs },
    ...(target !== undefined && { target }),
    ...(isDevice(kind) && { rdev }),
  };
}
