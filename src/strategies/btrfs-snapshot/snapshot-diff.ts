import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import type { BaseFacts } from "../../engine/base/baseline.ts";
import type { ChangeSet } from "../../engine/changes/change-set.ts";
import { diffTree } from "../../engine/changes/tree-diff.ts";
import { sameFileContent } from "../../engine/tree/same-entry.ts";
import { commitOf, inodesTouchedSince } from "../../system/btrfs/btrfs-search.ts";
import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { BaseOverrides } from "./base-overrides.ts";
import { BaseSnapshotEntries } from "./base-snapshot-entries.ts";

/** A snapshot that somebody worked in, and another of the same instant that stayed as it was. */
export interface Snapshots {
  readonly tree: Folder;
  readonly base: Folder;
  /** Taken before the base was made. */
  readonly barrier: Time;
  /** What of the work has landed, and whether the sandbox's file still has the content with which it did. */
  readonly landed?: {
    readonly overrides: BaseOverrides;
    readonly hasContent: (path: string, folder: Folder, name: string, facts: BaseFacts) => boolean;
  };
}

/**
 * What differs between the two. Where the file system tells what was touched, only that is looked at, and
 * what is in the same folders; else both are walked.
 */
export function diffWithBase(snapshots: Snapshots, tick?: (entries: number) => void): ChangeSet {
  const touched = inodesTouchedSince(snapshots.tree, commitOf(snapshots.base));
  const found = diffSnapshots(snapshots, touched, tick);
  // A file that came along with a folder that was moved is not touched itself; where its other names are,
  // only a walk can tell.
  const isUnknown = found.changes.some(
    ({ after }) =>
      after !== undefined &&
      after.kind !== "directory" &&
      after.nlink > 1 &&
      touched?.has(after.ino) === false,
  );
  return isUnknown ? diffSnapshots(snapshots, undefined, tick) : found;
}

/** The same, where it is known what was touched, or else by walking both. */
export function diffSnapshots(
  { tree, base, barrier, landed }: Snapshots,
  touched: ReadonlySet<number> | undefined,
  tick?: (entries: number) => void,
): ChangeSet {
  using entries = new BaseSnapshotEntries(base, barrier, { touched, landed: landed?.overrides });
  return diffTree(tree, entries, {
    ...(tick !== undefined && { tick }),
    isKnownUntouched: (index, ino) => entries.isKnownUntouched(index, ino),
    hasBaseContent: (path, folder, name, facts) => {
      if (landed?.overrides.entry(path) !== undefined) return landed.hasContent(path, folder, name, facts);
      using parent = base.openBelow(parentPath(path));
      return sameFileContent(parent, baseName(path), folder, name);
    },
  });
}
