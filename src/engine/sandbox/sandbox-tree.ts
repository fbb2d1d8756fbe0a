import type { Conflict } from "../../core/errors/errors.ts";
import { failedWith } from "../../system/calls/errno.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { OriginalEntry } from "../base/original-entry.ts";
import type { Age } from "../base/own-touches.ts";
import type { ChangeSet } from "../changes/change-set.ts";
import type { IsMark } from "../checks/landing-policy.ts";
import type { LandedPart } from "../landing/landed-part.ts";
import type { Steps } from "../work/pace.ts";
import type { ShownEntries } from "./shown-entries.ts";
import type { FileContent, WrittenFile } from "./writing.ts";

/**
 * The tree of a sandbox, in its workspace: the operations that differ between strategies of folders.
 * Everything else, from the change set to the landing, is shared (folder-strategy.ts).
 */
export interface SandboxTree {
  /** Whether its creation finished. */
  readonly isFinished: boolean;
  /** Whether a landing has moved entries out of it. It is made anew before its next use. */
  readonly isStale: boolean;
  /** Whether the machine was restarted since the tree was made: unflushed writes to it may be lost. */
  readonly isFromEarlierBoot: boolean;
  /** The age of entries of the original, since T0. */
  readonly age: Age;

  /** Opens the sandbox's own tree: the copy, or the upper layer. A landing takes entries from there. */
  openOwn(): Folder;

  /** Makes the tree, after removing the remains of an unfinished attempt. */
  make(original: Folder): Steps;

  /** Records that a landing is about to move entries out of the tree. */
  markStale(): void;

  /** Records that the tree mirrors the original again, except for the work in it. */
  markFresh(): void;

  read(original: Folder, own: Folder, path: string): Buffer;

  write(original: Folder, own: Folder, path: string, bytes: FileContent): WrittenFile;

  /** Looks at entries as programs see them, or changes them. */
  browse<T>(original: Folder, own: Folder, purpose: "look" | "change", action: Browse<T>): Promise<T>;

  diff(original: Folder, own: Folder): Steps<ChangeSet>;

  /** The differences of a checkpoint from the original. */
  diffSaved(original: Folder, saved: SavedTree): Steps<ChangeSet>;

  /** For a layer: whether an entry is only a mark about the layer below. */
  readonly isMark?: IsMark;

  base(): Promise<MovableBase>;

  /**
   * Notes in the landing's folder what is about to be staged, if its entries have to stay in the tree for a
   * while.
   */
  noteStaged?(original: Folder, changes: ChangeSet, landing: Folder): void;

  /** Looks up base facts by path. For a single file, the folder around it is not ours to know. */
  baseLookup(original: Folder): (path: string) => BaseFacts | undefined;
}

/**
 * The base of a tree, which moves when a part of the work has landed, and when an update brings in what
 * another writer changed. Each step may be repeated.
 */
export interface MovableBase<Earlier = unknown> {
  /** The base at the paths of the part before it moves, as plain data. */
  earlier(part: LandedPart): Earlier;

  /** Makes the landed part the base of the rest. The tree shows the same content as before. */
  land(part: LandedPart, earlier: Earlier): void;

  /** Undoes `land`. */
  takeBack(part: LandedPart, earlier: Earlier): void;

  /**
   * The changes in the tree that prevent a landed part from becoming work again, because they build on it.
   */
  conflicts?(part: LandedPart): readonly Conflict[];

  /** Makes these entries of the original the base. The tree shows the same content as before. */
  adopt(original: Folder, entries: readonly OriginalEntry[]): void;

  /** Puts the original's entries at these paths into the tree, or takes them out, and makes them the base. */
  takeOriginals(original: Folder, paths: readonly string[]): void;
}

/** What a checkpoint has of a tree. */
export interface SavedTree {
  /** The saved entries: the whole tree, the layer, or those that differ from the base. */
  readonly entries: Folder;
  /** The notes that were saved with them. */
  readonly notes: Buffer;
}

/** Works on the entries of a sandbox. */
export type Browse<T> = (entries: ShownEntries) => T;

/** Whether the tree is complete and holds the current work. */
export function isLive({ isFinished, isStale }: SandboxTree): boolean {
  return isFinished && !isStale;
}

/** Whether the tree of a sandbox was removed. */
export function isGone(tree: SandboxTree): boolean {
  try {
    tree.openOwn().close();
    return false;
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "ENOTDIR")) return true;
    throw thrown;
  }
}

/** Everything that a strategy needs to bring a tree back to a checkpoint. */
export interface BegunRestore<Tree> {
  readonly workspace: Folder;
  readonly tree: Tree;
  readonly original: Folder;
  readonly checkpoint: Folder;
  /** The notes that were saved with the tree. */
  readonly notes: Buffer;
  /** Whether commands stand still in the tree, and go on with it afterwards. */
  readonly isHeld: boolean;
}
