import { failedWith } from "../system/errno.ts";
import { type Failpoint, failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";

const UNLOCK = failpoint("move.unlock");
const LOCK = failpoint("move.lock");
const OWNER_WRITE = 0o200;

/** Moves an entry to where nothing is. */
export function moveEntry(point: Failpoint, from: Folder, name: string, to: Folder, toName: string): void {
  withWritableFolders([[from, name]], () => from.move(point, name, to, toName), [[to, toName]]);
}

/** Swaps two entries in one instant. */
export function exchangeEntries(point: Failpoint, a: Folder, nameA: string, b: Folder, nameB: string): void {
  const both: Places = [
    [a, nameA],
    [b, nameB],
  ];
  withWritableFolders(both, () => a.exchange(point, nameA, b, nameB), [
    [b, nameB],
    [a, nameA],
  ]);
}

type Places = readonly (readonly [folder: Folder, name: string])[];

/**
 * Without privilege, a folder that its owner may not write to can't change its parent, because the kernel rewrites its `..`. It is opened up
 * for the moment of the move. A crash in between is mended by the landing, which sets the modes of the folders it moved.
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
