import { createHash } from "node:crypto";
import { StateError } from "../core/errors.ts";
import type { EntryKind, Facts, Identity, Time } from "../system/facts.ts";
import type { EntryOperation } from "./change-set.ts";
import type { Metadata, MetadataPart } from "./metadata.ts";
import type { InnerLink } from "./survey.ts";

/**
 * The manifest of a landing: everything that applying it, undoing it or finishing it after a crash needs to know. It is a file in the
 * landing's folder; its digest is in the journal.
 *
 * Layout of a landing's folder, on the mount of the original:
 *   staging    what prepare is about to take out of the sandbox, and where from; on disk first, so that it can be put back
 *   slots/G/N  before the landing: what comes; after it: what was there. N is the entry's place in the manifest (slots.ts)
 *   ballast    room on the disk, given back right before the landing, so that growing folders find some
 *   manifest   this
 *   landed     written when all is in place: the barrier after which a change is somebody else's, and what to tell the user
 *   rest, own  of a part of the work: what its sandbox needs when the part is taken back (settle-part.ts)
 * Order of writes: the empty folders of slots; staging, a flush of that file; what goes into the slots, ballast, manifest, one flush of all; then the decision (not here); then the exchanges, landed, one flush.
 */
export interface Manifest {
  readonly version: 1;
  readonly transaction: string;
  /** The original itself: what lands is for no other folder that may be in its place. */
  readonly root: Identity;
  /** In path order. The index of an entry is its slot. */
  readonly entries: readonly ManifestEntry[];
  /** Files that stay in the original and get new names: that moves their change time. */
  readonly anchors: readonly { readonly path: string; readonly before: EntryIdentity }[];
  /** Folders whose times are set at the end, and what they were. */
  readonly folderTimes: readonly { readonly path: string; readonly before: Time; readonly after: Time }[];
  /** Folders of ours that do not let us write: opened up for the landing, and closed again. */
  readonly unlock: readonly { readonly path: string; readonly mode: number }[];
  /** What a rival changed after prepare stays as it is; else it is kept aside, and what was prepared takes its place. */
  readonly leavesRivals?: true;
  /** It is not all that the sandbox held, which goes on being used. */
  readonly part?: { readonly quiet: readonly QuietFolder[] };
  /** Taken before the look for conflicts: what changes later, inside folders that go out, is a rival's. */
  readonly barrier: Time;
  /** Taken when everything was staged: what is changed later inside a folder that came in is somebody else's. */
  readonly stagedAt: Time;
}

/** A folder that a landing changes in passing, and that nobody else had changed since T0. */
export interface QuietFolder {
  readonly path: string;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
}

export interface ManifestEntry {
  readonly path: string;
  readonly operation: EntryOperation;
  /** What is in the original before the landing. */
  readonly before?: EntryIdentity;
  /** What is there after it. */
  readonly after?: EntryIdentity;
  /** Made when it lands, as another name of this path in the original. It then has no identity of its own. */
  readonly linkTo?: string;
  /** Names inside a folder that are made right before it lands, as other names of files that stay in the original. */
  readonly innerLinks?: readonly InnerLink[];
  /** For an entry of metadata only. */
  readonly metadata?: { readonly before: Metadata; readonly after: Metadata; readonly parts: readonly MetadataPart[] };
}

/** Who an entry is, and what of it a rival could have changed without becoming another. Its change time is moved by our own renames. */
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

const IN_A_PIECE = 1000;

export function encodeManifest(manifest: Manifest): { readonly bytes: Buffer; readonly digest: string } {
  // In pieces: as one text, a manifest of a hundred thousand entries would be in memory three times.
  const { entries, ...rest } = manifest;
  const pieces = [Buffer.from(`${JSON.stringify(rest).slice(0, -1)},"entries":[`)];
  for (let at = 0; at < entries.length; at += IN_A_PIECE) {
    const piece = JSON.stringify(entries.slice(at, at + IN_A_PIECE)).slice(1, -1);
    pieces.push(Buffer.from(at === 0 ? piece : `,${piece}`));
  }
  const bytes = Buffer.concat([...pieces, Buffer.from("]}")]);
  return { bytes, digest: digestOf(bytes) };
}

export function decodeManifest(bytes: Buffer, digest: string, label: string): Manifest {
  if (digestOf(bytes) !== digest) {
    throw new StateError(`${label} is not what was prepared.`, {
      hint: "Its content does not match the journal. Nothing is guessed: restore the file, or settle it with 'drydock recover'.",
    });
  }
  return JSON.parse(bytes.toString()) as Manifest;
}

function digestOf(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}
