import { baseName, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { NO_TIME } from "../base/base-facts.ts";
import type { OriginalEntry } from "../base/original-entry.ts";
import { type CopiedEntry, copyEntries } from "../tree/copy-tree.ts";
import { removeTree } from "../tree/remove-tree.ts";
import { runAtOnce } from "../work/pace.ts";
import type { BaseMove } from "./base-move.ts";

const POINTS = {
  remove: failpoint("merge.remove-own"),
  time: failpoint("merge.folder-time"),
};

/** The move of a base to these entries of the original, while the tree stays as it is. */
export function adoptingMove(entries: readonly OriginalEntry[], own: Folder): BaseMove {
  const isRoot = process.geteuid?.() === 0;
  const come = entries.flatMap(({ path, there }): CopiedEntry[] => {
    if (there === undefined) return [];
    const { facts, xattrs, target } = there;
    const copy = own.factsBelow(path) ?? facts;
    // Without privilege, no copy can have another owner.
    const { uid, gid } = isRoot ? facts : copy;
    return [
      {
        path,
        original: facts,
        // A diff has to look at it.
        copy: { ...copy, mode: facts.mode, uid, gid, ctime: NO_TIME },
        xattrs,
        ...(target !== undefined && { target }),
      },
    ];
  });
  return moveTo(
    entries.map(({ path }) => path),
    come,
  );
}

/** Replaces entries of a tree of copies by those of the original, and returns the move of the base. */
export function takeOriginals(paths: readonly string[], original: Folder, own: Folder): BaseMove {
  const come: CopiedEntry[] = [];
  for (const path of paths) {
    using parent = own.openBelowIfThere(parentPath(path));
    if (parent === undefined) continue;
    const { mtime } = parent.ownFacts();
    removeTree(POINTS.remove, parent, baseName(path));
    if (original.factsBelow(path) !== undefined)
      runAtOnce(copyEntries(original, own, [path], { data: "share", onCopied: (entry) => come.push(entry) }));
    parent.setTimes(POINTS.time, ROOT_PATH, { mtime });
  }
  return moveTo(paths, come);
}

/** The move of a base to these entries. */
export function moveTo(paths: readonly string[], come: readonly CopiedEntry[]): BaseMove {
  return { gone: new Set(paths), come, changed: new Map(), withTime: (entry) => entry };
}
