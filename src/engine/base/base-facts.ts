import { type EntryKind, type Facts, type Identity, isDevice, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import type { CopiedEntry } from "../tree/copy-tree.ts";

/** The facts of an original entry at the time of the base. */
export interface BaseFacts extends Identity {
  readonly kind: EntryKind;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly nlink: number;
  readonly mtime: Time;
  /**
   * The change time at the copy: an entry that still has it is unchanged. Absent where a strategy does not
   * copy.
   */
  readonly ctime?: Time;
  readonly xattrs: Xattrs;
  readonly target?: string;
  /** For a device, "major:minor". */
  readonly rdev?: string;
  /**
   * For a folder: another writer had changed it or its contents after T0, before this record was made. Its
   * metadata may be the other writer's.
   */
  readonly changedBefore?: true;
}

/** A change time that no entry has: a diff looks at an entry with it again. */
export const NO_TIME: Time = [0, 0];
/** An identity that no entry has: an entry with it counts as replaced. */
export const NO_IDENTITY: Identity = { ino: 0, btime: NO_TIME };

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
