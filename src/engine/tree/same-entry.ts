import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readXattrs, sameXattrs } from "../../system/calls/xattrs.ts";
import { sameData } from "../../system/data/file-content.ts";

/** Whether two files hold the same bytes. */
export function sameFileContent(a: Folder, nameA: string, b: Folder, nameB: string): boolean {
  const first = a.openFile(nameA);
  try {
    const second = b.openFile(nameB);
    try {
      return sameData(first, second, a.label(nameA));
    } finally {
      closeFile(second);
    }
  } finally {
    closeFile(first);
  }
}

/**
 * Whether two entries have the same kind, content, mode, owner and attributes, with all their contents. Times
 * may differ: two users make the same change at different times.
 */
export function sameEntry(a: Folder, nameA: string, b: Folder, nameB: string): boolean {
  const [left, right] = [a.facts(nameA), b.facts(nameB)];
  if (left === undefined || right === undefined) return left === right;
  if (!sameFacts(left, right) || !sameXattrs(readXattrs(a, nameA), readXattrs(b, nameB))) return false;
  if (left.kind === "file") return left.size === right.size && sameFileContent(a, nameA, b, nameB);
  if (left.kind === "symlink") return a.readLink(nameA) === b.readLink(nameB);
  if (left.kind !== "directory") return left.rdev === right.rdev;
  using folderA = a.openChild(nameA);
  using folderB = b.openChild(nameB);
  const [namesA, namesB] = [folderA.names().sort(), folderB.names().sort()];
  return (
    namesA.length === namesB.length &&
    namesA.every((name, at) => name === namesB[at] && sameEntry(folderA, name, folderB, name))
  );
}

function sameFacts(a: Facts, b: Facts): boolean {
  return (
    a.kind === b.kind && a.uid === b.uid && a.gid === b.gid && (a.kind === "symlink" || a.mode === b.mode)
  );
}
