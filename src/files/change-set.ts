import type { ChangeOperation } from "../core/change.ts";
import type { Facts, Time } from "../system/facts.ts";
import type { Xattrs } from "../system/xattrs.ts";
import type { BaseFacts } from "./baseline.ts";
import type { MetadataPart } from "./metadata.ts";

/**
 * What differs between a sandbox and its original, twice: as *changes*, every path at any depth, for people to look at; and as *entries*,
 * what a landing moves. An entry is the topmost changed path: a new, deleted, replaced or retyped folder is one entry, and nothing below it
 * is. All directory strategies produce this, whatever way they find it.
 */
export interface ChangeSet {
  /** In path order. */
  readonly changes: readonly TreeChange[];
  /** In path order. */
  readonly entries: readonly TreeEntry[];
  /** Folders that stay but whose time changed. Not a change for people, but part of landing exactly. */
  readonly folderTimes: readonly FolderTime[];
  /** For inodes of the sandbox that have several names: one name that is also in the original and stays there, by inode. */
  readonly anchors: ReadonlyMap<number, string>;
}

export interface TreeChange {
  readonly path: string;
  readonly operation: ChangeOperation;
  readonly before?: BaseFacts;
  readonly after?: Facts;
  /** The attributes as they are in the sandbox, where they changed. */
  readonly xattrs?: Xattrs;
  /** If content and type are as before: what else changed. */
  readonly parts?: readonly MetadataPart[];
  /** Where in the workspace what it is now can be found, if that is not at its path in what is the sandbox's own. */
  readonly storedAt?: string;
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
