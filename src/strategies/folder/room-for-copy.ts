import { parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { diskUse } from "../../engine/tree/disk-use.ts";
import { isExcluded, type Scope } from "../../engine/workspace/scope.ts";
import type { WorkspacePlace } from "../../engine/workspace/workspace.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { freeRoom, usedRoom } from "../../system/mount/file-system.ts";

/**
 * Why there is no room for a copy of an original in this place, or undefined if there may be. Looks at the
 * whole original only if its file system holds more than is free there.
 */
export function whyNoRoom(place: WorkspacePlace, scope: Scope): string | undefined {
  const free = freeRoom(parentPath(place.path));
  if (usedRoom(scope.root) <= free) return undefined;
  using original = Folder.open(scope.root);
  // If a folder refuses us, the copy says so.
  const needed = unlessFailed(["EACCES"], () => needOf(original, scope)) ?? 0;
  if (needed <= free) return undefined;
  return `there is no room for a copy: it needs ${needed} bytes, and ${free} are free in ${parentPath(place.path)}`;
}

function needOf(original: Folder, scope: Scope): number {
  const { only } = scope;
  if (only !== undefined) return original.facts(only)?.size ?? 0;
  const sum = diskUse(original, [ROOT_PATH], (path) => !isExcluded(scope, path));
  for (;;) {
    const { done, value } = sum.next();
    if (done === true) return value;
  }
}
