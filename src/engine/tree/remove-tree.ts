import { UnsupportedError } from "../../core/errors/errors.ts";
import { deleteSubvolume, SUBVOLUME_INODE } from "../../system/btrfs/btrfs.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import type { NamedEntry } from "./named-entry.ts";

/** A folder whose contents are being removed, and the parent to remove the folder from. */
interface Level {
  readonly parent: Folder;
  readonly name: string;
  readonly folder: Folder;
  readonly mountId: number;
  names: string[];
}

/**
 * Removes an entry with all its contents, if it exists. Entries that another process removes meanwhile count
 * as removed. Folders that refuse us are opened up first. Throws at a mount point, which is not ours. Without
 * recursion, because a hostile program can make folders deeper than any stack.
 */
export function removeTree(point: Failpoint, parent: Folder, name: string): void {
  const levels: Level[] = [];
  try {
    removeOrEnter(point, { folder: parent, name }, parent.ownFacts().mountId, levels);
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const child = level.names.pop();
      if (child !== undefined)
        removeOrEnter(point, { folder: level.folder, name: child }, level.mountId, levels);
      else {
        levels.pop();
        level.folder.close();
        unlessGone(() => level.parent.removeFolder(point, level.name));
      }
    }
  } finally {
    for (const { folder } of levels) folder.close();
  }
}

function removeOrEnter(
  point: Failpoint,
  { folder: parent, name }: NamedEntry,
  mountId: number,
  levels: Level[],
): void {
  const facts = parent.facts(name);
  if (facts === undefined) return;
  if (facts.mountId !== mountId) {
    throw new UnsupportedError(`${parent.label(name)} is a mount point and is not removed.`, {
      hint: "Unmount it and try again.",
    });
  }
  unlessGone(() => {
    if (facts.kind !== "directory") {
      parent.removeFile(point, name);
      return;
    }
    if (facts.ino === SUBVOLUME_INODE && deleteSubvolume(point, parent, name)) return;
    const folder = openUp(point, parent, name, facts.mode);
    const level: Level = { parent, name, folder, mountId, names: [] };
    levels.push(level);
    level.names = folder.names();
  });
}

/** Runs a step of a removal. It succeeds if another process did it before. */
export function unlessGone(step: () => void): void {
  unlessFailed(["ENOENT"], step);
}

function openUp(point: Failpoint, parent: Folder, name: string, mode: number): Folder {
  const OWNER_ALL = 0o700;
  if (process.geteuid?.() !== 0 && (mode & OWNER_ALL) !== OWNER_ALL)
    parent.setMode(point, name, mode | OWNER_ALL);
  return parent.openChild(name);
}
