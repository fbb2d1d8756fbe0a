import { UnsupportedError } from "../../core/errors/errors.ts";
import { type Facts, sameTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs, sameXattrs, writeXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import type { NamedEntry } from "./named-entry.ts";

/** The metadata of an entry: everything besides its content. */
export interface Metadata {
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly mtime: Time;
  readonly xattrs: Xattrs;
}

export function metadataOf(folder: Folder, name: string, facts: Omit<Metadata, "xattrs">): Metadata {
  return {
    mode: facts.mode,
    uid: facts.uid,
    gid: facts.gid,
    mtime: facts.mtime,
    xattrs: readXattrs(folder, name),
  };
}

/** The metadata that a new copy gets. */
interface WantedMetadata {
  readonly facts: Facts;
  readonly xattrs: Xattrs;
}

/**
 * Gives a new copy the metadata of its original. The order matters:
 * 1. The owner, because a change of owner clears set-id bits and file capabilities.
 * 2. The attributes.
 * 3. The mode, because it may forbid writing attributes.
 * 4. The times, because every other change moves them.
 *
 * Without privilege, another user's ownership and trusted attributes can't be kept; the copy then differs, as
 * with `cp -a`.
 */
export function giveMetadata(
  point: Failpoint,
  { folder, name }: NamedEntry,
  { facts, xattrs }: WantedMetadata,
  made: Facts,
): void {
  if (made.uid !== facts.uid || made.gid !== facts.gid) changeOwner(point, folder, name, facts);
  const isLink = facts.kind === "symlink";
  const hasXattrs = Object.keys(xattrs).length > 0;
  // Without privilege, not even the owner can write attributes of a read-only file.
  if (hasXattrs && !isLink && (made.mode & 0o200) === 0) folder.setMode(point, name, made.mode | 0o200);
  if (hasXattrs) writeXattrs(point, folder, name, xattrs, readXattrs(folder, name));
  if (
    !isLink &&
    (hasXattrs || made.mode !== facts.mode || made.uid !== facts.uid || made.gid !== facts.gid)
  ) {
    folder.setMode(point, name, facts.mode);
  }
  folder.setTimes(point, name, { atime: facts.atime, mtime: facts.mtime });
}

/**
 * Like `giveMetadata`, and returns the facts of the finished copy, from `look`. Most copies have the right
 * owner and mode from the start and no attributes: then only the times are set, and one `look` confirms it.
 */
export function finishCopy(
  point: Failpoint,
  entry: NamedEntry,
  wanted: WantedMetadata,
  look: () => Facts,
): Facts {
  const { facts, xattrs } = wanted;
  if (Object.keys(xattrs).length === 0) {
    entry.folder.setTimes(point, entry.name, { atime: facts.atime, mtime: facts.mtime });
    const made = look();
    const hasMode = facts.kind === "symlink" || made.mode === facts.mode;
    if (hasMode && made.uid === facts.uid && made.gid === facts.gid) return made;
  }
  giveMetadata(point, entry, wanted, look());
  return look();
}

function changeOwner(point: Failpoint, folder: Folder, name: string, facts: Facts): void {
  try {
    folder.setOwner(point, name, facts.uid, facts.gid);
  } catch (thrown) {
    if (process.geteuid?.() === 0) throw thrown;
  }
}

const POINTS = {
  owner: failpoint("metadata.owner"),
  mode: failpoint("metadata.mode"),
  xattrs: failpoint("metadata.xattrs"),
  times: failpoint("metadata.times"),
};

/** A part of the metadata that a change sets; other parts stay as they are in the original. */
export type MetadataPart = "mode" | "owner" | "xattrs" | "mtime";

/** Sets these parts of an entry's metadata in place, in the order of `giveMetadata`. May be repeated. */
export function setMetadata(
  { folder, name }: NamedEntry,
  wanted: Metadata,
  parts: readonly MetadataPart[],
  isLink: boolean,
): void {
  if (parts.includes("owner")) folder.setOwner(POINTS.owner, name, wanted.uid, wanted.gid);
  // A change of owner drops a file's capability, which is an attribute.
  if (parts.includes("xattrs") || parts.includes("owner")) setXattrs(folder, name, wanted, isLink);
  if (!isLink && parts.some((part) => part !== "mtime")) folder.setMode(POINTS.mode, name, wanted.mode);
  if (parts.includes("mtime")) folder.setTimes(POINTS.times, name, { mtime: wanted.mtime });
}

function setXattrs(folder: Folder, name: string, wanted: Metadata, isLink: boolean): void {
  if (!isLink && process.geteuid?.() !== 0) folder.setMode(POINTS.mode, name, wanted.mode | 0o200);
  const refused = writeXattrs(POINTS.xattrs, folder, name, wanted.xattrs, readXattrs(folder, name));
  if (refused.length === 0) return;
  throw new UnsupportedError(`${folder.label(name)} does not take the attributes ${refused.join(", ")}.`);
}

/**
 * The parts that the sandbox has changed. Mode and owner are compared with those that the sandbox's entry
 * began with: what it could not keep is no change.
 */
export function changedParts(
  first: Pick<Metadata, "mode" | "uid" | "gid">,
  base: Pick<Metadata, "mtime" | "xattrs">,
  { facts, xattrs }: { readonly facts: Facts; readonly xattrs: Xattrs },
): MetadataPart[] {
  const parts: MetadataPart[] = [];
  if (facts.kind !== "symlink" && facts.mode !== first.mode) parts.push("mode");
  if (facts.uid !== first.uid || facts.gid !== first.gid) parts.push("owner");
  if (!sameXattrs(xattrs, base.xattrs)) parts.push("xattrs");
  if (!sameTime(facts.mtime, base.mtime)) parts.push("mtime");
  return parts;
}

/** Whether two sets of metadata agree in these parts. */
export function sameParts(a: Metadata, b: Metadata, parts: readonly MetadataPart[]): boolean {
  return parts.every((part) => {
    if (part === "mode") return a.mode === b.mode;
    if (part === "owner") return a.uid === b.uid && a.gid === b.gid;
    if (part === "mtime") return sameTime(a.mtime, b.mtime);
    return sameXattrs(a.xattrs, b.xattrs);
  });
}

/**
 * The parts that another writer has set: those that equal neither the old nor the new value. When an
 * interrupted landing continues, an intermediate state is ours: some attributes set and others not, or a mode
 * that follows from an owner or an ACL that was set before it.
 */
export function foreignParts(
  current: Metadata,
  change: { readonly before: Metadata; readonly after: Metadata; readonly parts: readonly MetadataPart[] },
  goesOn: boolean,
): MetadataPart[] {
  const { before, after, parts } = change;
  return parts.filter((part) => {
    if (sameParts(current, before, [part]) || sameParts(current, after, [part])) return false;
    if (goesOn && part === "xattrs") return hasForeignXattr(current.xattrs, before.xattrs, after.xattrs);
    return !(goesOn && part === "mode" && (parts.includes("owner") || parts.includes("xattrs")));
  });
}

/** The kernel rewrites this attribute when the mode is set, and the mode when this attribute is set. */
const ACL = "system.posix_acl_access";

function hasForeignXattr(current: Xattrs, before: Xattrs, after: Xattrs): boolean {
  const names = new Set([current, before, after].flatMap((xattrs) => Object.keys(xattrs)));
  names.delete(ACL);
  return [...names].some((name) => current[name] !== before[name] && current[name] !== after[name]);
}
