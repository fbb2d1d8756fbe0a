import { UnsupportedError } from "../core/errors.ts";
import { failedWith } from "../system/errno.ts";
import type { Failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";

/**
 * Removes an entry with all that is in it, if it is there. Folders that do not let us in are opened up first. What is mounted in it
 * is somebody else's and stops it.
 */
export function removeTree(point: Failpoint, parent: Folder, name: string): void {
  const facts = parent.facts(name);
  if (facts === undefined) return;
  if (facts.mountId !== parent.ownFacts().mountId) {
    throw new UnsupportedError(`${parent.label(name)} is a mount point and is not removed.`, {
      hint: "Unmount it and try again.",
    });
  }
  if (facts.kind !== "directory") {
    parent.removeFile(point, name);
    return;
  }
  {
    using folder = openUp(point, parent, name, facts.mode);
    for (const child of folder.names()) removeTree(point, folder, child);
  }
  parent.removeFolder(point, name);
}

function openUp(point: Failpoint, parent: Folder, name: string, mode: number): Folder {
  const OWNER_ALL = 0o700;
  if (process.geteuid?.() !== 0 && (mode & OWNER_ALL) !== OWNER_ALL) parent.setMode(point, name, mode | OWNER_ALL);
  return parent.openChild(name);
}

/** Makes a folder if it is not there, and opens it. */
export function ensureFolder(point: Failpoint, parent: Folder, name: string): Folder {
  try {
    parent.createFolder(point, name, 0o700);
  } catch (thrown) {
    if (!failedWith(thrown, "EEXIST")) throw thrown;
  }
  return parent.openChild(name);
}
