import type { Conflict } from "../../core/errors/errors.ts";
import type { Facts, Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { BaseFacts } from "../base/baseline.ts";
import type { ChangeSet } from "../changes/change-set.ts";
import type { IsMark } from "../checks/landing-policy.ts";
import type { LandedPart } from "../landing/landed-part.ts";
import type { Steps } from "../work/pace.ts";

/**
 * A sandbox of a folder, in its workspace: what a directory strategy has to know how to do with it.
 * Everything else, from the change set to the landing, is the same for all of them (folder-strategy.ts).
 */
export interface SandboxTree {
  /** Whether it was made to the end. */
  readonly isFinished: boolean;
  /** Whether a landing has taken parts out of it: it is made anew before it is used again. */
  readonly isStale: boolean;
  /**
   * Whether the machine was restarted since it was made: what was written to it and not flushed may be gone.
   */
  readonly isFromEarlierBoot: boolean;
  /** T0: what changed in the original at or after it was changed by others. */
  readonly barrier: Time;

  /** Opens what of the sandbox is its own: the copy, or the upper layer. What lands is taken out of there. */
  openOwn(): Folder;

  /** Makes it; what an earlier, unfinished try left is removed first. */
  make(original: Folder): Steps;

  /** Says that a landing is about to take parts out of it. */
  markStale(): void;

  /** Says that it mirrors the original again, but for the work in it. */
  markFresh(): void;

  read(original: Folder, own: Folder, path: string): Buffer;

  write(original: Folder, own: Folder, path: string, bytes: Uint8Array): WrittenFile;

  diff(original: Folder, own: Folder, tick?: (entries: number) => void): ChangeSet;

  /** Whether an entry of the original, as it is now, is still what the sandbox was made from. */
  isStillBase(now: Facts | undefined, base: BaseFacts): boolean;

  /** Of a layer: whether an entry is there only to say something about the layer below. */
  readonly isMark?: IsMark;

  /**
   * Of a tree of which parts can land: writes into the landing's folder what `takeBackPart` will need. May be
   * called again.
   */
  notePart?(part: LandedPart): void;

  /** Makes what has landed the base of the rest; what the tree shows stays the same. May be called again. */
  landPart?(part: LandedPart): void;

  /** Takes that back, and before `landPart` does nothing. */
  takeBackPart?(part: LandedPart): void;

  /** What keeps a part from becoming work of the tree again, because somebody has gone on from it there. */
  partConflicts?(part: LandedPart): readonly Conflict[];

  /** Looks up what the original was. The folder around a single file is not ours to know. */
  baseLookup(original: Folder): (path: string) => BaseFacts | undefined;
}

/** Whether a tree holds work that goes on. */
export function isLive({ isFinished, isStale }: SandboxTree): boolean {
  return isFinished && !isStale;
}

/** A file before it was written, and now. */
export interface WrittenFile {
  readonly before: Facts | undefined;
  readonly after: Facts;
}

/** What a tree is brought back with to what it was at a checkpoint. */
export interface BegunRestore<Tree> {
  readonly workspace: Folder;
  readonly tree: Tree;
  readonly original: Folder;
  readonly checkpoint: Folder;
  /** What was known of the tree when it was saved. */
  readonly notes: Buffer;
}
