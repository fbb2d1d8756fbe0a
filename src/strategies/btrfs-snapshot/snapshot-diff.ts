import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import type { BaseFacts } from "../../engine/base/base-facts.ts";
import type { ChangeSet } from "../../engine/changes/change-set.ts";
import { diffTree } from "../../engine/changes/tree-diff.ts";
import { sameFileContent } from "../../engine/tree/same-entry.ts";
import type { Steps } from "../../engine/work/pace.ts";
import { commitOf, inodesTouchedSince } from "../../system/btrfs/btrfs-search.ts";
import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { BaseOverrides } from "./base-overrides.ts";
import { BaseSnapshotEntries } from "./base-snapshot-entries.ts";

/** The writable snapshot with the work, and the read-only base snapshot of the same instant. */
export interface Snapshots {
  readonly tree: Folder;
  readonly base: Folder;
  /** Taken before the base was made. */
  readonly barrier: Time;
  /** The landed parts, and whether the sandbox's file still has the content with which it landed. */
  readonly landed?: {
    readonly overrides: BaseOverrides;
    readonly hasContent: (path: string, folder: Folder, name: string, facts: BaseFacts) => boolean;
  };
}

/**
 * Compares the two snapshots. Where the file system lists the touched inodes, only those and their folders
 * are read; otherwise both snapshots are walked.
 */
export function* diffWithBase(snapshots: Snapshots): Steps<ChangeSet> {
  const touched = inodesTouchedSince(snapshots.tree, commitOf(snapshots.base));
  const found = yield* diffSnapshots(snapshots, touched);
  // A file that moved with its folder is not touched itself; only a walk finds its other names.
  const isUnknown = Iterator.from(found.changes).some(
    ({ after }) =>
      after !== undefined &&
      after.kind !== "directory" &&
      after.nlink > 1 &&
      touched?.has(after.ino) === false,
  );
  return isUnknown ? yield* diffSnapshots(snapshots, undefined) : found;
}

/** Compares the two snapshots, only the touched inodes if these are known. */
export function* diffSnapshots(
  { tree, base, barrier, landed }: Snapshots,
  touched: ReadonlySet<number> | undefined,
): Steps<ChangeSet> {
  using entries = new BaseSnapshotEntries(base, barrier, { touched, landed: landed?.overrides });
  return yield* diffTree(tree, entries, {
    isKnownUntouched: (index, ino) => entries.isKnownUntouched(index, ino),
    hasBaseContent: (path, folder, name, facts) => {
      if (landed?.overrides.entry(path) !== undefined) return landed.hasContent(path, folder, name, facts);
      using parent = base.openBelow(parentPath(path));
      return sameFileContent(parent, baseName(path), folder, name);
    },
  });
}
