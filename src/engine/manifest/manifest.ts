import {
  type EntryKind,
  type Facts,
  type Identity,
  sameIdentity,
  sameTime,
  type Time,
} from "../../system/calls/facts.ts";
import type { EntryOperation } from "../changes/change-set.ts";
import type { Metadata, MetadataPart } from "../tree/metadata.ts";
import type { Skeleton } from "../tree/move-by-entries.ts";

/**
 * The manifest of a landing: everything that is needed to apply it, to undo it, or to finish it after a
 * crash.
 *
 * Layout of a landing's folder, on the mount of the original:
 *   staging    the entries that prepare is about to take out of the sandbox (staging-record.ts)
 *   slots/G/N  before the landing, the entry that comes; after it, the entry that was there. N is the entry's
 *              number (slots.ts)
 *   entries    the entries of the manifest, a line each (manifest-entries.ts)
 *   ballast    reserved room on the disk, freed right before the landing, so that folders can grow
 *   manifest   JSON: the rest of the manifest, with the digest of `entries`; its own digest is in the journal
 *   landed     written when everything is in place: the barrier after which a change is another writer's, and
 *              the reports for the user
 *   rest, own  for a part: what its sandbox needs when the part is taken back (rebase-after-part.ts)
 *
 * Order of writes:
 *   1. staging; a flush of that file
 *   2. the folders of slots, and their contents; entries; ballast; manifest
 *   3. a flush of everything
 *   4. the decision (not here)
 *   5. the removal of the ballast; the renames; landed
 *   6. a flush of everything
 *
 * Version 1, of Drydock 0.1.0, held its entries in `manifest` itself. It is still read, so that its landings
 * can be undone.
 */
export interface ManifestHeader {
  readonly version: 1 | 2;
  readonly transaction: string;
  /** The identity of the original: the landing is for no other folder in its place. */
  readonly root: Identity;
  /** Files that stay in the original and get new names: that moves their change time. */
  readonly anchors: readonly { readonly path: string; readonly before: EntryIdentity }[];
  /** Folders of this user without write permission: opened up for the landing, and closed again. */
  readonly unlock: readonly { readonly path: string; readonly mode: number }[];
  /**
   * An entry that another writer changed after prepare stays. Without this, that version is kept aside and
   * replaced.
   */
  readonly leavesRivals?: true;
  /** Only a part of the work lands, and the sandbox stays in use. */
  readonly part?: { readonly quiet: readonly QuietFolder[] };
  /**
   * Taken before the check for conflicts: a later change inside a folder that goes out is another writer's.
   */
  readonly barrier: Time;
  /** Taken when everything was staged: a later change inside a folder that came in is another writer's. */
  readonly stagedAt: Time;
}

/** A manifest in memory. The index of an entry is its slot. */
export interface Manifest extends ManifestHeader {
  readonly entries: readonly ManifestEntry[];
  readonly folderTimes: readonly ChangedFolderTime[];
}

/** A folder whose time is set at the end, with its time before. */
export interface ChangedFolderTime {
  readonly path: string;
  readonly before: Time;
  readonly after: Time;
}

/** A folder that a landing changes in passing, and that no other writer had changed since T0. */
export interface QuietFolder {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

export type Direction = "forward" | "backward";

/**
 * A name inside a copied folder that is made when the folder lands, as another name of a file that stays in
 * the original.
 */
export interface InnerLink {
  /** Relative to the entry. */
  readonly path: string;
  readonly linkTo: string;
  readonly folderTime: Time;
}

export interface ManifestEntry {
  /** Of an entry in a renamed folder: with the folder's new name. */
  readonly path: string;
  /** `rename`: a folder of the original gets another path, with all that is in it. */
  readonly operation: EntryOperation | "rename";
  /** For a folder that is renamed: its new path. */
  readonly renamedTo?: string;
  /** The entry in the original before the landing. */
  readonly before?: EntryIdentity | undefined;
  /** The entry in the original after the landing. */
  readonly after?: EntryIdentity | undefined;
  /** Made when it lands, as another name of this path in the original. It then has no identity of its own. */
  readonly linkTo?: string;
  /**
   * Names inside a folder that are made right before it lands, as other names of files that stay in the
   * original.
   */
  readonly innerLinks?: readonly InnerLink[];
  /** For a folder that goes and may have to move entry by entry: what stands for it then. */
  readonly skeleton?: Skeleton;
  /** For a file with several names on an overlay: it gets another number when it moves. */
  readonly byContent?: true;
  /** Only some hunks of the file land, or another content: the sandbox keeps its own. */
  readonly partly?: true;
  /** For an entry of metadata only. */
  readonly metadata?: {
    readonly before: Metadata;
    readonly after: Metadata;
    readonly parts: readonly MetadataPart[];
  };
}

/**
 * The identity of an entry, and what of it another writer could have changed without making it another.
 * Our own renames move its change time.
 */
export interface EntryIdentity extends Identity {
  readonly kind: EntryKind;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly size: number;
  readonly mtime: Time;
  /** As prepare saw it. */
  readonly ctime: Time;
  /** The folder that stands for it once it has moved entry by entry. */
  readonly or?: Identity;
  /** It is known by its size, time, mode and owner, because its number does not stay. */
  readonly byContent?: true;
}

export function entryIdentity(facts: Facts): EntryIdentity {
  const { kind, mode, uid, gid, size, mtime, ctime, ino, btime } = facts;
  return { kind, mode, uid, gid, size, mtime, ctime, ino, btime };
}

/** Whether the entry there now is this one, changed or not. */
export function isThere(now: Facts | undefined, identity: EntryIdentity | undefined): boolean {
  if (now === undefined || identity === undefined || now.kind !== identity.kind) return false;
  if (identity.byContent === true) return sameContentFacts(now, identity);
  return sameIdentity(now, identity) || (identity.or !== undefined && sameIdentity(now, identity.or));
}

/** The same for an entry whose metadata changes. */
export function isThereWithOtherMetadata(now: Facts, identity: EntryIdentity | undefined): boolean {
  const isUnsteady = identity?.byContent === true;
  return isUnsteady ? now.kind === identity.kind && now.size === identity.size : isThere(now, identity);
}

/** Ignores a folder's own time, which moves with the names in it; its contents are compared instead. */
export function sameContentFacts(now: Facts, seen: EntryIdentity): boolean {
  if (now.kind === "directory") return now.mode === seen.mode && sameTime(now.mtime, seen.mtime);
  return (
    now.size === seen.size &&
    sameTime(now.mtime, seen.mtime) &&
    now.mode === seen.mode &&
    now.uid === seen.uid &&
    now.gid === seen.gid
  );
}
