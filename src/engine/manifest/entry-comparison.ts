import { type Facts, sameIdentity, sameTime } from "../../system/calls/facts.ts";
import type { EntryIdentity } from "./manifest.ts";

/** Whether what is there now is this entry, whatever was done to it since. */
export function isThere(now: Facts | undefined, identity: EntryIdentity | undefined): boolean {
  return (
    now !== undefined && identity !== undefined && now.kind === identity.kind && sameIdentity(now, identity)
  );
}

/** A folder's own time moves when names in it do, which its contents tell better. */
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
