import { type Conflict, SandboxConflictError, StateError } from "../../core/errors/errors.ts";
import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import { type Facts, sameIdentity, sameTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { isAfter } from "../base/barrier.ts";
import type { Age } from "../base/own-touches.ts";
import { firstChangeBelow } from "../checks/conflicts.ts";
import {
  type EntryIdentity,
  isThere,
  isThereWithOtherMetadata,
  type ManifestEntry,
} from "../manifest/manifest.ts";
import type { Slots } from "../manifest/slots.ts";
import type { StoredManifest } from "../manifest/stored-manifest.ts";
import { metadataOf, sameParts } from "../tree/metadata.ts";

/**
 * Checks that a landed transaction can be taken back: every path is still as the landing left it, and
 * everything that would come back still exists. Throws `SandboxConflictError` with every path that is not, or
 * `StateError` if the record is incomplete.
 */
export function checkUndo(
  original: Folder,
  slots: Slots,
  manifest: StoredManifest,
  times: LandingTimes,
): void {
  const conflicts: Conflict[] = [];
  for (const { slot, entry } of manifest.entries.all()) {
    if (wasLeftAlone(original, entry)) continue;
    if (entry.before !== undefined && entry.operation !== "metadata" && entry.operation !== "rename")
      assertBackup(slots, slot, entry, entry.before);
    const why = whyNot(original, entry, times);
    if (why !== undefined) conflicts.push({ path: entry.path, why });
  }
  if (conflicts.length > 0) {
    const first = conflicts[0];
    throw new SandboxConflictError(conflicts, {
      message: `It can't be taken back, because another process changed what landed: ${first?.path} (${first?.why})${conflicts.length > 1 ? ` and ${conflicts.length - 1} more` : ""}.`,
      hint: "Look at these paths in the original. Take them back by hand, or move them away and try again.",
    });
  }
}

/** What was skipped, because another writer was in the way, has nothing to take back. */
function wasLeftAlone(original: Folder, { operation, path, before }: ManifestEntry): boolean {
  if ((operation !== "delete" && operation !== "rename") || before === undefined) return false;
  const now = original.factsBelow(path);
  return now !== undefined && sameIdentity(now, before);
}

export interface LandingTimes {
  readonly stagedAt: Time;
  /** Since the landing finished. */
  readonly age: Age;
}

function assertBackup(slots: Slots, slot: number, entry: ManifestEntry, before: EntryIdentity): void {
  const kept = slots.facts(slot);
  if (isThere(kept, before)) return;
  throw new StateError(`The undo record is damaged: what was at ${entry.path} is no longer kept.`, {
    hint: "Nothing is taken back, because not all of it could be. Restore what you need from a backup of your own.",
  });
}

/** Why an entry is no longer as the landing left it, or undefined if it is. */
export function whyNot(original: Folder, entry: ManifestEntry, times: LandingTimes): string | undefined {
  using parent = original.openBelowIfThere(parentPath(entry.path));
  if (parent === undefined) return "its folder is gone or was replaced";
  const name = baseName(entry.path);
  const now = parent.facts(name);
  if (entry.operation === "delete" || entry.operation === "rename")
    return now === undefined ? whyNotRenamed(original, entry) : "something is there again";
  if (now === undefined) return "deleted since";
  if (entry.operation === "metadata") return whyNotMetadata(parent, name, entry, now);
  return whyNotContent({ parent, name, now }, entry, times);
}

/** What other writers have changed in a renamed folder goes back with it. */
function whyNotRenamed(original: Folder, { renamedTo, before }: ManifestEntry): string | undefined {
  if (renamedTo === undefined) return undefined;
  const now = original.factsBelow(renamedTo);
  return isThere(now, before) ? undefined : `${renamedTo} was moved or replaced since`;
}

function whyNotMetadata(parent: Folder, name: string, entry: ManifestEntry, now: Facts): string | undefined {
  if (!isThereWithOtherMetadata(now, entry.before)) return "replaced since";
  const { metadata } = entry;
  if (metadata === undefined || sameParts(metadataOf(parent, name, now), metadata.after, metadata.parts))
    return undefined;
  return "changed since";
}

function whyNotContent(
  { parent, name, now }: { readonly parent: Folder; readonly name: string; readonly now: Facts },
  entry: ManifestEntry,
  { stagedAt, age }: LandingTimes,
): string | undefined {
  if (entry.after !== undefined && !sameIdentity(now, entry.after)) return "replaced since";
  if (age.isSince(now)) return "changed since";
  if (now.kind !== "directory") {
    const same =
      entry.after === undefined || (now.size === entry.after.size && sameTime(now.mtime, entry.after.mtime));
    return same ? undefined : "changed since";
  }
  using folder = parent.openChild(name);
  // The contents came in as they were staged; only names that were linked at the landing, and files with
  // another landed name, are younger.
  const linked = new Set((entry.innerLinks ?? []).flatMap(({ path }) => [path, parentPath(path)]));
  const changed = firstChangeBelow(
    folder,
    stagedAt,
    (facts, path) => (linked.has(path) || isOfSeveralNames(facts)) && !isAfter(facts, age.barrier),
  );
  return changed === undefined ? undefined : `changed since: ${changed}`;
}

function isOfSeveralNames({ kind, nlink }: Facts): boolean {
  return kind !== "directory" && nlink > 1;
}
