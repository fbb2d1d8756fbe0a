import { type Facts, sameIdentity, sameTime } from "../../system/calls/facts.ts";
import type { EntryIdentity } from "./manifest.ts";

/** Whether the entry there now is this one, changed or not. */
export function isThere(now: Facts | undefined, identity: EntryIdentity | undefined): boolean {
  return (
    now !== undefined && identity !== undefined && now.kind === identity.kind && sameIdentity(now, identity)
  );
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
