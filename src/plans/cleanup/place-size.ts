import { treeSize } from "../../engine/tree/tree-size.ts";
import { Folder } from "../../system/calls/folder.ts";
import { isThere } from "../../system/data/existence.ts";

/** The size of everything at a path; undefined if nothing is there, or the location is no path. */
export function sizeOf(location: string): number | undefined {
  if (!location.startsWith("/") || !isThere(location)) return undefined;
  using root = Folder.open("/");
  return treeSize(root, location.slice(1));
}
