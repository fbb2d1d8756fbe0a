import { type Facts, sameIdentity, sameTime } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { type Direction, type EntryIdentity, isThere } from "../manifest/manifest.ts";
import { type ExchangeOutcome, exchangeEntries, finishExchange } from "../tree/exchange-entries.ts";
import { setMetadata } from "../tree/metadata.ts";
import { finishMoveOut } from "../tree/move-by-entries.ts";
import { moveEntry } from "../tree/move-entry.ts";
import type { Passage } from "./landing-decision.ts";
import { type LandingTarget, partedFolder } from "./landing-target.ts";

/**
 * Repairs what a crash or another writer leaves of a move. Every repair may be repeated.
 *
 * - Without privilege, a read-only folder is opened up for its move (move-entry.ts). A crash leaves it open,
 *   at either end of the move.
 * - Where the file system can't exchange, a crash leaves an exchange between two of its steps.
 * - xfs gives an exchanged folder a new modification time. A crash comes before the old one is set again.
 * - Another writer moves the folder of an entry away between our look and our rename. The rename then
 *   happened elsewhere.
 */
const POINTS = {
  modes: failpoint("land.modes"),
  times: failpoint("land.mend-times"),
  leave: failpoint("land.leave-folder"),
};
const OWNER_WRITE = 0o200;

/** Runs first for every entry if an earlier run may have been interrupted. */
export function repairEntry(
  target: LandingTarget,
  { kind, from, to }: Passage,
  direction: Direction,
): ExchangeOutcome {
  const { entry, parent, name, slots, slotName } = target;
  const settled = finishInterrupted(target, direction);
  closeLeftOpen(target);
  if (kind === "replace" && isThere(parent.facts(name), to)) {
    mendTime(parent, name, to);
    mendTime(slots, slotName, from);
  }
  // The landing may have been interrupted after it put a name into a folder and before it reset the folder's
  // time.
  if (kind === "take-out" && entry.innerLinks !== undefined && parent.facts(name) === undefined)
    mendTime(slots, slotName, from);
  return settled;
}

/** Does what is left of an exchange in steps that was cut off. */
export function finishInterrupted(target: LandingTarget, direction: Direction): ExchangeOutcome {
  const { parent, name, slots, slotName } = target;
  return finishExchange({ folder: slots, name: slotName }, { folder: parent, name }, (to) =>
    finishMoveOut(partedFolder(target), to, direction === "backward"),
  );
}

function closeLeftOpen({ entry, parent, name, slots, slotName }: LandingTarget): void {
  for (const identity of [entry.before, entry.after]) {
    if (identity?.kind !== "directory" || (identity.mode & OWNER_WRITE) !== 0) continue;
    closeIfLeftOpen(parent, name, identity);
    closeIfLeftOpen(slots, slotName, identity);
  }
}

/** Closes the folder if it is still there and open. Another folder may be in its place. */
export function closeIfLeftOpen(parent: Folder, name: string, wanted: EntryIdentity): void {
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

/** A folder that came in may have been left open when it was taken out of the sandbox. */
export function mendModeOfMoved({ parent, name }: LandingTarget, wanted: EntryIdentity | undefined): void {
  if (wanted?.kind !== "directory") return;
  const now = parent.facts(name);
  if (now !== undefined && now.mode !== wanted.mode) parent.setMode(POINTS.modes, name, wanted.mode);
}

/**
 * Undoes the last rename if its folder has moved away: the rename happened wherever the folder is now,
 * perhaps outside of the original. The slot shows what was done: its content differs from before if anything
 * was.
 */
export function leaveVanishedFolder(
  target: LandingTarget,
  slotBefore: Facts | undefined,
  direction: Direction,
): void {
  const { entry, parent, name, slots, slotName } = target;
  const inOriginal = { folder: parent, name };
  const slot = { folder: slots, name: slotName };
  const hasName = parent.facts(name) !== undefined;
  const change = entry.metadata;
  if (change !== undefined) {
    const wanted = direction === "forward" ? change.before : change.after;
    if (hasName) setMetadata(inOriginal, wanted, change.parts, entry.before?.kind === "symlink");
    return;
  }
  const slotNow = slots.facts(slotName);
  if (isSame(slotNow, slotBefore)) return;
  if (slotNow === undefined) moveEntry(POINTS.leave, inOriginal, slot);
  else if (hasName) exchangeEntries(POINTS.leave, slot, inOriginal);
  else moveEntry(POINTS.leave, slot, inOriginal);
}

function isSame(a: Facts | undefined, b: Facts | undefined): boolean {
  return a === undefined || b === undefined ? a === b : sameIdentity(a, b);
}
