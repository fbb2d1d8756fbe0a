import type { EntryKind, Facts, Identity, Time } from "../../system/calls/facts.ts";
import type { EntryOperation } from "../changes/change-set.ts";
import type { Metadata, MetadataPart } from "../tree/metadata.ts";

/**
 * The manifest of a landing: everything that applying it, undoing it or finishing it after a crash needs to
 * know.
 *
 * Layout of a landing's folder, on the mount of the original:
 *   staging    what prepare is about to take out of the sandbox, and where from (staging-record.ts)
 *   slots/G/N  before the landing: what comes; after it: what was there. N is the entry's number (slots.ts)
 *   entries    the entries of the manifest, a line each (manifest-entries.ts)
 *   ballast    room on the disk, given back right before the landing, so that growing folders find some
 *   manifest   JSON: all the rest of the manifest, with the digest of `entries`; its own digest is in the
 *              journal
 *   landed     written when all is in place: the barrier after which a change is another writer's, and what
 *              to tell the user
 *   rest, own  of a part: what its sandbox needs when the part is taken back (rebase-after-part.ts)
 *
 * Order of writes:
 *   1. staging; a flush of that file
 *   2. the folders of slots, and what goes into them; entries; ballast; manifest
 *   3. a flush of all
 *   4. the decision (not here)
 *   5. the ballast goes; the renames; landed
 *   6. a flush of all
 *
 * Version 1, of Drydock 0.1.0, held its entries in `manifest` itself. It is still read, so what landed then
 * can still be undone.
 */
export interface ManifestHeader {
  readonly version: 1 | 2;
  readonly transaction: string;
  /** The original itself: what lands is for no other folder that may be in its place. */
  readonly root: Identity;
  /** Files that stay in the original and get new names: that moves their change time. */
  readonly anchors: readonly { readonly path: string; readonly before: EntryIdentity }[];
  /** Folders whose times are set at the end, and what they were. */
  readonly folderTimes: readonly { readonly path: string; readonly before: Time; readonly after: Time }[];
  /** Folders of ours that do not let us write: opened up for the landing, and closed again. */
  readonly unlock: readonly { readonly path: string; readonly mode: number }[];
  /**
   * What another writer changed after prepare stays as it is; else it is kept aside, and what was prepared
   * takes its place.
   */
  readonly leavesRivals?: true;
  /** It is not all that the sandbox held, which goes on being used. */
  readonly part?: { readonly quiet: readonly QuietFolder[] };
  /**
   * Taken before the look for conflicts: what changes later, inside folders that go out, is another writer's.
   */
  readonly barrier: Time;
  /**
   * Taken when everything was staged: what is changed later inside a folder that came in is another writer's.
   */
  readonly stagedAt: Time;
}

/** A manifest in memory. The index of an entry is its slot. */
export interface Manifest extends ManifestHeader {
  readonly entries: readonly ManifestEntry[];
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
  readonly path: string;
  readonly operation: EntryOperation;
  /** What is in the original before the landing. */
  readonly before?: EntryIdentity | undefined;
  /** What is there after it. */
  readonly after?: EntryIdentity | undefined;
  /** Made when it lands, as another name of this path in the original. It then has no identity of its own. */
  readonly linkTo?: string;
  /**
   * Names inside a folder that are made right before it lands, as other names of files that stay in the
   * original.
   */
  readonly innerLinks?: readonly InnerLink[];
  /** For an entry of metadata only. */
  readonly metadata?: {
    readonly before: Metadata;
    readonly after: Metadata;
    readonly parts: readonly MetadataPart[];
  };
}

/**
 * Who an entry is, and what of it another writer could have changed without making it another. Its change
 * time is moved by our own renames.
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
}

export function entryIdentity(facts: Facts): EntryIdentity {
  const { kind, mode, uid, gid, size, mtime, ctime, ino, btime } = facts;
  return { kind, mode, uid, gid, size, mtime, ctime, ino, btime };
}
