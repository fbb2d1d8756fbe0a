import { compareTimes, type Facts, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { TouchTable } from "../base/own-touches.ts";
import { type EntryIdentity, isThere, sameContentFacts } from "../manifest/manifest.ts";
import type { Slots } from "../manifest/slots.ts";
import type { StoredManifest } from "../manifest/stored-manifest.ts";

/**
 * Whether a file with several names still has the content that it had at the barrier. A later change time may
 * then come from the landing of another of its names, perhaps in another resource of the plan.
 */
export function hasOldContent({ kind, nlink, mtime }: Facts, barrier: Time): boolean {
  return kind !== "directory" && nlink > 1 && compareTimes(mtime, barrier) < 0;
}

/**
 * The change times that this landing has caused. Moving, adding or changing one name of a file moves the
 * change time that all its names show. Without this record, the second name would look like another writer's
 * change.
 */
export class LandingTouches {
  readonly #table = new TouchTable();

  /** Records that the current change time is ours. */
  note(facts: Facts | undefined): void {
    if (facts !== undefined && facts.kind !== "directory" && facts.nlink > 1) this.#table.add(facts);
  }

  /** Records that we have moved this entry away and back, if it is otherwise as prepare saw it. */
  noteBack(facts: Facts | undefined, seen: EntryIdentity | undefined): void {
    if (facts === undefined || seen === undefined) return;
    if (isThere(facts, seen) && sameContentFacts(facts, seen)) this.#table.add(facts);
  }

  /** Whether this landing was the last to change the file. */
  has(facts: Facts): boolean {
    return this.#table.find(facts) !== undefined;
  }

  /** Records the change times that an earlier, interrupted run of this landing caused. */
  noteEarlier(original: Folder, slots: Slots, { entries }: StoredManifest): void {
    for (const { slot, entry } of entries.all()) {
      this.note(slots.facts(slot));
      if (entry.linkTo !== undefined) this.note(original.factsBelow(entry.linkTo));
      else if (entry.operation === "metadata") this.note(original.factsBelow(entry.path));
    }
  }
}
