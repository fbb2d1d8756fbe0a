import { failedWith } from "../../system/calls/errno.ts";
import { sameTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";

const UNLOCK = failpoint("move.unlock");
const LOCK = failpoint("move.lock");
const TIMES = failpoint("move.times");
const OWNER_WRITE = 0o200;

/** Moves an entry to a free name. */
export function moveEntry(point: Failpoint, from: Folder, name: string, to: Folder, toName: string): void {
  withWritableFolders([[from, name]], () => from.move(point, name, to, toName), [[to, toName]]);
}

/**
 * Swaps two entries atomically. xfs gives swapped folders a new modification time, which we set back; the
 * landing repairs what a crash in between leaves.
 */
export function exchangeEntries(point: Failpoint, a: Folder, nameA: string, b: Folder, nameB: string): void {
  const before: Places = [
    [a, nameA],
    [b, nameB],
  ];
  const after: Places = [
    [b, nameB],
    [a, nameA],
  ];
  const times = before.map(([folder, name]) => folderTime(folder, name));
  withWritableFolders(before, () => a.exchange(point, nameA, b, nameB), after);
  after.forEach(([folder, name], at) => {
    const [was, now] = [times[at], times[at] && folderTime(folder, name)];
    if (was !== undefined && now !== undefined && !sameTime(was, now))
      folder.setTimes(TIMES, name, { mtime: was });
  });
}

function folderTime(parent: Folder, name: string): Time | undefined {
  const facts = parent.facts(name);
  return facts?.kind === "directory" ? facts.mtime : undefined;
}

type Places = readonly (readonly [folder: Folder, name: string])[];

/**
 * Without privilege, a folder that its owner may not write to can't get another parent, because the kernel
 * rewrites its `..`. We make it writable for the move. After a crash in between, the landing sets the modes
 * of the folders that it moved.
 */
function withWritableFolders(before: Places, action: () => void, after: Places): void {
  try {
    action();
    return;
  } catch (thrown) {
    if (!failedWith(thrown, "EACCES", "EPERM") || process.geteuid?.() === 0) throw thrown;
  }
  const modes = before.map(([folder, name]) => {
    const facts = folder.facts(name);
    return facts?.kind === "directory" && (facts.mode & OWNER_WRITE) === 0 ? facts.mode : undefined;
  });
  setModes(
    UNLOCK,
    before,
    modes.map((mode) => (mode === undefined ? undefined : mode | OWNER_WRITE)),
  );
  try {
    action();
  } catch (thrown) {
    setModes(LOCK, before, modes);
    throw thrown;
  }
  setModes(LOCK, after, modes);
}

function setModes(point: Failpoint, places: Places, modes: readonly (number | undefined)[]): void {
  places.forEach(([folder, name], at) => {
    const mode = modes[at];
    if (mode !== undefined) folder.setMode(point, name, mode);
  });
}
