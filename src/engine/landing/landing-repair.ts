import { type Facts, sameIdentity, sameTime } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { isThere } from "../manifest/entry-comparison.ts";
import type { Direction, EntryIdentity } from "../manifest/manifest.ts";
import { setMetadata } from "../tree/metadata.ts";
import { exchangeEntries, moveEntry } from "../tree/move-entry.ts";
import type { Passage } from "./landing-decision.ts";
import type { Place } from "./landing-place.ts";

/**
 * What a crash or another writer can leave of a move, and how it is put right. All of it may be done again.
 *
 * - Without privilege, a read-only folder is opened up for its move (move-entry.ts). A crash leaves it open,
 *   at either end of the move.
 * - xfs gives an exchanged folder a new modification time. A crash comes before the old one is set again.
 * - Another writer moves the folder of an entry away between our look and our deed. The deed was then done
 *   elsewhere.
 */
const POINTS = {
  modes: failpoint("land.modes"),
  times: failpoint("land.mend-times"),
  leave: failpoint("land.leave-folder"),
};
const OWNER_WRITE = 0o200;

/** Runs first for every entry when an earlier run may have been cut off. */
export function repairEntry(place: Place, { kind, from, to }: Passage): void {
  const { entry, parent, name, slots, slotName } = place;
  closeLeftOpen(place);
  if (kind === "replace" && isThere(parent.facts(name), to)) {
    mendTime(parent, name, to);
    mendTime(slots, slotName, from);
  }
  // The way there may have been cut off between putting a name into a folder and giving the folder its time
  // again.
  if (kind === "take-out" && entry.innerLinks !== undefined && parent.facts(name) === undefined)
    mendTime(slots, slotName, from);
}

function closeLeftOpen({ entry, parent, name, slots, slotName }: Place): void {
  for (const identity of [entry.before, entry.after]) {
    if (identity?.kind !== "directory" || (identity.mode & OWNER_WRITE) !== 0) continue;
    closeIfLeftOpen(parent, name, identity);
    closeIfLeftOpen(slots, slotName, identity);
  }
}

/** The folder may still be where it was, or be another by now. */
function closeIfLeftOpen(parent: Folder, name: string, wanted: EntryIdentity): void {
  const now = parent.facts(name);
  if (now === undefined || !sameIdentity(now, wanted) || now.mode !== (wanted.mode | OWNER_WRITE)) return;
  parent.setMode(POINTS.modes, name, wanted.mode);
}

function mendTime(parent: Folder, name: string, wanted: EntryIdentity | undefined): void {
  const now = wanted?.kind === "directory" ? parent.facts(name) : undefined;
  if (wanted === undefined || now?.kind !== "directory" || !sameIdentity(now, wanted)) return;
  if (!sameTime(now.mtime, wanted.mtime) && sameTime(now.mtime, now.ctime))
    parent.setTimes(POINTS.times, name, { mtime: wanted.mtime });
}

/** A folder that has just come in may have been left open before, when it was taken out of the sandbox. */
export function mendModeOfMoved({ parent, name }: Place, wanted: EntryIdentity | undefined): void {
  if (wanted?.kind !== "directory") return;
  const now = parent.facts(name);
  if (now !== undefined && now.mode !== wanted.mode) parent.setMode(POINTS.modes, name, wanted.mode);
}

/**
 * Takes back what was just done in a folder that is no longer where it was: it was done wherever the folder
 * is now, maybe outside of the original. What was done is read from the slot, which holds something else than
 * before if anything was.
 */
export function leaveVanishedFolder(place: Place, slotBefore: Facts | undefined, direction: Direction): void {
  const { entry, parent, name, slots, slotName } = place;
  const hasName = parent.facts(name) !== undefined;
  const change = entry.metadata;
  if (change !== undefined) {
    const wanted = direction === "forward" ? change.before : change.after;
    if (hasName) setMetadata(parent, name, wanted, change.parts, entry.before?.kind === "symlink");
    return;
  }
  const slotNow = slots.facts(slotName);
  if (isSame(slotNow, slotBefore)) return;
  if (slotNow === undefined) moveEntry(POINTS.leave, parent, name, slots, slotName);
  else if (hasName) exchangeEntries(POINTS.leave, slots, slotName, parent, name);
  else moveEntry(POINTS.leave, slots, slotName, parent, name);
}

function isSame(a: Facts | undefined, b: Facts | undefined): boolean {
  return a === undefined || b === undefined ? a === b : sameIdentity(a, b);
}
