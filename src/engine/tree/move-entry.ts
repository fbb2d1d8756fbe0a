import { failedWith } from "../../system/calls/errno.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import type { NamedEntry } from "./named-entry.ts";

const UNLOCK = failpoint("move.unlock");
const LOCK = failpoint("move.lock");
const OWNER_WRITE = 0o200;

/** Moves an entry to a free name. */
export function moveEntry(point: Failpoint, from: NamedEntry, to: NamedEntry): void {
  withWritableFolders([from], () => from.folder.move(point, from.name, to.folder, to.name), [to]);
}

/**
 * Without privilege, a folder that its owner may not write to can't get another parent, because the kernel
 * rewrites its `..`. We make it writable for the move. After a crash in between, the landing sets the modes
 * of the folders that it moved.
 */
export function withWritableFolders(
  before: readonly NamedEntry[],
  action: () => void,
  after: readonly NamedEntry[],
): void {
  try {
    action();
    return;
  } catch (thrown) {
    if (!failedWith(thrown, "EACCES", "EPERM") || process.geteuid?.() === 0) throw thrown;
  }
  const modes = before.map(({ folder, name }) => {
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

function setModes(
  point: Failpoint,
  entries: readonly NamedEntry[],
  modes: readonly (number | undefined)[],
): void {
  entries.forEach(({ folder, name }, at) => {
    const mode = modes[at];
    if (mode !== undefined) folder.setMode(point, name, mode);
  });
}
