import type { ChangeOperation } from "../../core/change.ts";
import type { Facts, Time } from "../../system/calls/facts.ts";
import type { Xattrs } from "../../system/calls/xattrs.ts";
import type { BaseFacts } from "../base/baseline.ts";
import type { MetadataPart } from "../tree/metadata.ts";

/**
 * The difference between a sandbox and its original, twice: as *changes*, every path at any depth, for people
 * to look at; and as *entries*, the paths that a landing moves. An entry is the topmost changed path: a new,
 * deleted, replaced or retyped folder is one entry, and nothing below it is. All directory strategies produce
 * this through a `ChangeSetBuilder`, whatever way they find the changes.
 */
export interface ChangeSet {
  /** In path order. */
  readonly changes: readonly TreeChange[];
  /** In path order. */
  readonly entries: readonly TreeEntry[];
  /** Folders that stay but whose time changed. Not a change for people, but part of landing exactly. */
  readonly folderTimes: readonly FolderTime[];
  /**
   * For inodes of the sandbox with several names: one name that is also in the original and stays there, by
   * inode.
   */
  readonly anchors: ReadonlyMap<number, string>;
}

/**
 * One changed path. Its facts are packed, and unpacked each time they are asked for: ask once, and don't
 * spread it.
 */
export interface TreeChange {
  readonly path: string;
  readonly operation: ChangeOperation;
  readonly before?: BaseFacts | undefined;
  readonly after?: Facts | undefined;
  /** The attributes as they are in the sandbox, where they changed. */
  readonly xattrs?: Xattrs | undefined;
  /** If content and type are as before: what else changed. */
  readonly parts?: readonly MetadataPart[] | undefined;
  /**
   * The path in the workspace that holds the changed file, if that is not its path in the sandbox's own tree.
   */
  readonly storedAt?: string | undefined;
}

export interface TreeEntry extends Omit<TreeChange, "operation"> {
  readonly operation: EntryOperation;
}

/**
 * - `add`: nothing was there.
 * - `replace`: something else comes in its place: other content, another type, another folder.
 * - `delete`: it goes.
 * - `metadata`: it stays, and only `parts` of its metadata change.
 */
export type EntryOperation = "add" | "replace" | "delete" | "metadata";

export interface FolderTime {
  readonly path: string;
  readonly mtime: Time;
}
