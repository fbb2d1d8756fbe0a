import { failedWith, isRenameUnknown } from "../../system/calls/errno.ts";
import { type Facts, sameTime, type Time } from "../../system/calls/facts.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import { moveEntry, withWritableFolders } from "./move-entry.ts";
import type { NamedEntry } from "./named-entry.ts";

/**
 * Swaps the entry in a slot of ours with an entry of the original: atomically where the file system can do
 * that, else in steps:
 *   1. The entry of the original moves to `SLOT.out`.
 *   2. The entry in the slot moves into the original.
 *   3. `SLOT.out` moves to the slot.
 *
 * Between 1 and 2 the path is missing. No step puts an entry over another one, so a version that another
 * writer slips in is never lost. After a crash, `finishExchange` does the steps that are left, from what is
 * where.
 */
const POINTS = {
  times: failpoint("move.times"),
  in: failpoint("exchange.in"),
  keep: failpoint("exchange.keep"),
  keepBefore: failpoint("exchange.keep-before"),
  drop: failpoint("exchange.drop"),
};
/** The names that an exchange in steps uses beside the slot's own. */
const OUT = ".out";
const BEFORE = ".before";

/**
 * Swaps any two entries. xfs gives swapped folders a new modification time, which we set back; the landing
 * repairs what a crash in between leaves.
 */
export function exchangeEntries(
  point: Failpoint,
  slot: NamedEntry,
  target: NamedEntry,
  takeOut?: TakeOut,
): void {
  const times = [slot, target].map(folderTime);
  withWritableFolders([slot, target], () => exchangeFiles(point, slot, target, takeOut), [target, slot]);
  [target, slot].forEach((entry, at) => {
    const [was, now] = [times[at], times[at] && folderTime(entry)];
    if (was !== undefined && now !== undefined && !sameTime(was, now))
      entry.folder.setTimes(POINTS.times, entry.name, { mtime: was });
  });
}

/** Step 1, if it is more than a rename. */
type TakeOut = (out: NamedEntry) => void;

/** Swaps two entries that are no folders. */
export function exchangeFiles(
  point: Failpoint,
  slot: NamedEntry,
  target: NamedEntry,
  takeOut: TakeOut = (out) => moveEntry(point, target, out),
): void {
  try {
    slot.folder.exchange(point, slot.name, target.folder, target.name);
  } catch (thrown) {
    // On an overlay, a folder of a lower layer can't be renamed.
    if (!isRenameUnknown(thrown) && !failedWith(thrown, "EXDEV")) throw thrown;
    const out = beside(slot, OUT);
    takeOut(out);
    moveEntry(POINTS.in, slot, target);
    moveEntry(POINTS.keep, out, slot);
  }
}

/** What became of an exchange, or a move by link, that was cut off. */
export interface ExchangeOutcome {
  /** The entry of the original has moved its change time by us alone: it had another name for a while. */
  readonly isBack: boolean;
  /** Another writer has taken the name meanwhile: where the entry is that was there. */
  readonly keptAt?: string;
}

/**
 * Does what a crash has left of an exchange in steps, or of a move by link. `finishOut` finishes a step 1
 * that is more than a rename; without an exchange, that one went to the slot itself.
 */
export function finishExchange(slot: NamedEntry, target: NamedEntry, finishOut?: TakeOut): ExchangeOutcome {
  const out = beside(slot, OUT);
  finishOut?.(factsOf(slot) === undefined ? slot : out);
  const isBack = [dropIfSame(out, target), dropIfSame(slot, target)].includes(true);
  dropIfSame(out, slot);
  if (factsOf(out) === undefined) return { isBack };
  // An empty slot means that step 2 was done.
  if (factsOf(slot) !== undefined) {
    if (factsOf(target) !== undefined) return { isBack: false, keptAt: keepBefore(slot, out) };
    moveEntry(POINTS.in, slot, target);
  }
  moveEntry(POINTS.keep, out, slot);
  return { isBack: false };
}

function keepBefore(slot: NamedEntry, out: NamedEntry): string {
  let number = 0;
  while (factsOf(beside(slot, `${BEFORE}${number}`)) !== undefined) number += 1;
  const { folder, name } = beside(slot, `${BEFORE}${number}`);
  moveEntry(POINTS.keepBefore, out, { folder, name });
  return folder.label(name);
}

/** A move by link that was cut off leaves a file with both names. */
function dropIfSame(drop: NamedEntry, keep: NamedEntry): boolean {
  const [a, b] = [factsOf(drop), factsOf(keep)];
  if (a === undefined || b === undefined || a.kind === "directory") return false;
  if (a.ino !== b.ino || a.device !== b.device) return false;
  drop.folder.removeFile(POINTS.drop, drop.name);
  return true;
}

function beside({ folder, name }: NamedEntry, suffix: string): NamedEntry {
  return { folder, name: `${name}${suffix}` };
}

function factsOf({ folder, name }: NamedEntry): Facts | undefined {
  return folder.facts(name);
}

function folderTime(entry: NamedEntry): Time | undefined {
  const facts = factsOf(entry);
  return facts?.kind === "directory" ? facts.mtime : undefined;
}
