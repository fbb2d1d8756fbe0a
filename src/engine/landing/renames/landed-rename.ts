import { baseName, parentPath } from "../../../core/paths/byte-path.ts";
import { failedWith } from "../../../system/calls/errno.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Direction } from "../../manifest/manifest.ts";
import { isThere } from "../../manifest/manifest.ts";
import type { SlotEntry } from "../../manifest/manifest-entries.ts";
import { type Slots, slotName } from "../../manifest/slots.ts";
import { moveEntry } from "../../tree/move-entry.ts";
import type { NamedEntry } from "../../tree/named-entry.ts";
import type { OthersRule } from "../landing-decision.ts";
import { closeIfLeftOpen } from "../landing-repair.ts";
import type { LandingReport } from "../landing-report.ts";

/**
 * Gives a folder of the original its other name: one rename, so everything in it stays the same file, for
 * whatever has it open or linked. What another writer changes inside meanwhile goes along.
 *
 * As with every entry, the original shows how far an earlier run came: the folder is at its one path or at
 * its other one. The slot stays empty, unless another writer has put something at the new path since prepare.
 * That version is then kept in the slot, and an undo returns it.
 */
const POINTS = {
  rename: failpoint("land.rename"),
  makeRoom: failpoint("land.remove"),
  giveBack: failpoint("land.give-back"),
};
/** How often another writer may interfere between a look and the rename that follows it. */
const MOST_TRIES = 8;

export interface RenameRun {
  readonly original: Folder;
  readonly slots: Slots;
  readonly direction: Direction;
  readonly others: OthersRule;
  readonly report: LandingReport;
}

/** The name of an entry before or after its rename, in its open folder. */
interface Name extends NamedEntry {
  readonly has: "it" | "another" | "nothing";
}

export function landRename(renamed: SlotEntry, run: RenameRun): void {
  const { path, renamedTo = path } = renamed.entry;
  const [here, there] = run.direction === "forward" ? [path, renamedTo] : [renamedTo, path];
  using source = run.original.openBelowIfThere(parentPath(here));
  using target = run.original.openBelowIfThere(parentPath(there));
  if (source === undefined || target === undefined) {
    run.report.folderGone(renamed.entry, renamed.slot);
    return;
  }
  for (let tries = 1; ; tries += 1) {
    const look = (folder: Folder, name: string) => lookAt({ folder, name }, renamed);
    try {
      if (step(renamed, look(source, baseName(here)), look(target, baseName(there)), run)) return;
    } catch (thrown) {
      // Another writer has taken or removed the name since the look.
      if (tries >= MOST_TRIES || !failedWith(thrown, "EEXIST", "ENOENT")) throw thrown;
    }
  }
}

/** Does what comes next. Returns whether that was the end. */
function step(renamed: SlotEntry, here: Name, there: Name, run: RenameRun): boolean {
  const { entry, slot } = renamed;
  const inSlot = { folder: run.slots.in(slot), name: slotName(slot) };
  const isSlotFull = run.slots.facts(slot) !== undefined;
  if (there.has === "it") {
    if (entry.before !== undefined) closeIfLeftOpen(there.folder, there.name, entry.before);
    if (isSlotFull && run.direction === "forward") run.report.verdict("set-aside", renamed, "bring-in");
    if (isSlotFull && run.direction === "backward" && here.has === "nothing")
      moveEntry(POINTS.giveBack, inSlot, here);
    return true;
  }
  if (here.has !== "it") {
    run.report.notRenamed(entry);
    return true;
  }
  if (there.has === "nothing") {
    moveEntry(POINTS.rename, here, there);
    return false;
  }
  if (run.others === "set-aside" && !isSlotFull) {
    moveEntry(POINTS.makeRoom, there, inSlot);
    return false;
  }
  run.report.verdict("made-anew", renamed, "bring-in");
  return true;
}

function lookAt({ folder, name }: NamedEntry, { entry: { before } }: SlotEntry): Name {
  const facts = folder.facts(name);
  const has = facts === undefined ? "nothing" : isThere(facts, before) ? "it" : "another";
  return { folder, name, has };
}
