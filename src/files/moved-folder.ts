import { sameIdentity, sameTime } from "../system/facts.ts";
import { failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";
import type { EntryIdentity } from "./manifest.ts";
import type { Place } from "./vanished-folder.ts";

const POINTS = { modes: failpoint("land.modes"), times: failpoint("land.mend-times") };

/** Moving a folder may open it up for a moment (move-entry.ts); a crash between that and closing it again leaves a wrong mode. */
export function mendModeOfMoved(parent: Folder, name: string, wanted: EntryIdentity | undefined): void {
  if (wanted?.kind !== "directory") return;
  const now = parent.facts(name);
  if (now !== undefined && now.mode !== wanted.mode) parent.setMode(POINTS.modes, name, wanted.mode);
}

/** The same for what a run that was cut off left: the folder may still be where it was, or be somebody else's by now. */
export function closeLeftOpen({ entry, parent, name, slots, slotName }: Place): void {
  if (entry.operation === "metadata") return;
  for (const identity of [entry.before, entry.after]) {
    closeIfLeftOpen(parent, name, identity);
    closeIfLeftOpen(slots, slotName, identity);
  }
}

function closeIfLeftOpen(parent: Folder, name: string, wanted: EntryIdentity | undefined): void {
  const OWNER_WRITE = 0o200;
  if (wanted?.kind !== "directory" || (wanted.mode & OWNER_WRITE) !== 0) return;
  const now = parent.facts(name);
  if (now === undefined || !sameIdentity(now, wanted) || now.mode !== (wanted.mode | OWNER_WRITE)) return;
  parent.setMode(POINTS.modes, name, wanted.mode);
}

/** A crash right after an exchange leaves a folder with the time of that moment, where the file system gives it one (move-entry.ts). */
export function mendTimeOfExchanged(parent: Folder, name: string, wanted: EntryIdentity | undefined): void {
  const now = parent.facts(name);
  if (now?.kind !== "directory" || wanted === undefined || !sameIdentity(now, wanted)) return;
  if (!sameTime(now.mtime, wanted.mtime) && sameTime(now.mtime, now.ctime))
    parent.setTimes(POINTS.times, name, { mtime: wanted.mtime });
}
