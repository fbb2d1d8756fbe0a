import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import { compareTimes, type Facts, sameTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { Slots } from "../manifest/slots.ts";
import type { StoredManifest } from "../manifest/stored-manifest.ts";

/**
 * Whether a file with several names has the content it had at the barrier. Then a later change time may well
 * come from landing another of its names, maybe one in another resource of the plan, of which this landing
 * knows nothing.
 */
export function hasOldContent({ kind, nlink, mtime }: Facts, barrier: Time): boolean {
  return kind !== "directory" && nlink > 1 && compareTimes(mtime, barrier) < 0;
}

/**
 * The change times that a landing has moved itself. Moving one name of a file, making another or setting its
 * metadata moves the change time that all its names show, so without this the second name would look as if
 * somebody else had changed it.
 */
export class OwnChanges {
  readonly #times = new Map<number, Time>();

  /** Says that the change time it has now is ours. */
  note(facts: Facts | undefined): void {
    if (facts !== undefined && facts.kind !== "directory" && facts.nlink > 1)
      this.#times.set(facts.ino, facts.ctime);
  }

  /** Whether we were the last to change it. */
  has(facts: Facts): boolean {
    const ours = this.#times.get(facts.ino);
    return ours !== undefined && sameTime(ours, facts.ctime);
  }

  /** What an earlier run, that was cut off, had already done. */
  noteEarlier(original: Folder, slots: Slots, { entries }: StoredManifest): void {
    for (const { slot, entry } of entries.all()) {
      this.note(slots.facts(slot));
      if (entry.linkTo !== undefined) this.#noteBelow(original, entry.linkTo);
      else if (entry.operation === "metadata" && entry.before?.kind !== "directory")
        this.#noteBelow(original, entry.path);
    }
  }

  #noteBelow(original: Folder, path: string): void {
    using parent = original.openBelowIfThere(parentPath(path));
    this.note(parent?.facts(baseName(path)));
  }
}
