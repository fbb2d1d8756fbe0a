import type { ChangeOperation } from "../../core/change.ts";
import type { Facts, Time } from "../../system/calls/facts.ts";
import type { Xattrs } from "../../system/calls/xattrs.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { MetadataPart } from "../tree/metadata.ts";
import type { Rows } from "./rows.ts";

/**
 * The difference between a sandbox and its original, in two forms. *Changes* are all changed paths at any
 * depth, for people to read. *Entries* are the paths that a landing moves: the topmost changed ones. A new,
 * deleted, replaced or retyped folder is one entry, and nothing below it is. All strategies of folders build
 * this with a `ChangeSetBuilder`.
 */
export interface ChangeSet {
  /** In path order. */
  readonly changes: Rows<TreeChange>;
  /** In path order. */
  readonly entries: Rows<TreeEntry>;
  /** Folders that stay but have another time. Not shown as a change, but landed. */
  readonly folderTimes: Rows<FolderTime>;
  /** For each inode of the sandbox with several names: one name that the original has too and keeps. */
  readonly anchors: ReadonlyMap<number, string>;
}

/** One changed path. Don't spread the object: its fields may be getters. */
export interface TreeChange {
  readonly path: string;
  readonly operation: ChangeOperation;
  readonly before?: BaseFacts | undefined;
  readonly after?: Facts | undefined;
  /** The attributes in the sandbox, if they changed. */
  readonly xattrs?: Xattrs | undefined;
  /** If content and type are unchanged: the parts of the metadata that changed. */
  readonly parts?: readonly MetadataPart[] | undefined;
  /** The path of the changed file in the workspace, if it differs from its path in the sandbox's own tree. */
  readonly storedAt?: string | undefined;
}

export interface TreeEntry extends Omit<TreeChange, "operation"> {
  readonly operation: EntryOperation;
}

/**
 * - `add`: nothing was at the path.
 * - `replace`: other content, another type or another folder takes the place of the entry.
 * - `delete`: the entry goes.
 * - `metadata`: the entry stays, and only `parts` of its metadata change.
 */
export type EntryOperation = "add" | "replace" | "delete" | "metadata";

export interface FolderTime {
  readonly path: string;
  readonly mtime: Time;
}
