import { type Facts, sameIdentity, sameTime } from "../../system/calls/facts.ts";
import type { EntryIdentity } from "./manifest.ts";

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
