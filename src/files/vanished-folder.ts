import { type Facts, sameIdentity } from "../system/facts.ts";
import { failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";
import type { ManifestEntry } from "./manifest.ts";
import { setMetadata } from "./metadata.ts";
import { exchangeEntries, moveEntry } from "./move-entry.ts";

const GIVE_BACK = failpoint("land.leave-folder");

/** Where an entry lands: a name in an open folder of the original, and its slot. */
export interface Place {
  readonly entry: ManifestEntry;
  readonly slot: number;
  readonly parent: Folder;
  readonly name: string;
  /** The folder that the slot is in. */
  readonly slots: Folder;
  readonly slotName: string;
}

/**
 * Takes back what was just done in a folder that a rival had moved away between our look and our deed: it was done wherever the folder is
 * now, maybe outside of the original. What was done is read from the slot, which holds something else than before if anything was.
 */
export function leaveVanishedFolder(
  { entry, parent, name, slots, slotName }: Place,
  slotBefore: Facts | undefined,
  forward: boolean,
): void {
  const isThere = parent.facts(name) !== undefined;
  const change = entry.metadata;
  if (change !== undefined) {
    const wanted = forward ? change.before : change.after;
    if (isThere) setMetadata(parent, name, wanted, change.parts, entry.before?.kind === "symlink");
    return;
  }
  const slotNow = slots.facts(slotName);
  if (isSame(slotNow, slotBefore)) return;
  if (slotNow === undefined) moveEntry(GIVE_BACK, parent, name, slots, slotName);
  else if (isThere) exchangeEntries(GIVE_BACK, slots, slotName, parent, name);
  else moveEntry(GIVE_BACK, slots, slotName, parent, name);
}

function isSame(a: Facts | undefined, b: Facts | undefined): boolean {
  return a === undefined || b === undefined ? a === b : sameIdentity(a, b);
}
