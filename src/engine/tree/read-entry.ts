import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";

/** Reads the entry at a path of a tree, if there is one. */
export function readEntry<T>(
  tree: Folder,
  path: string,
  read: (parent: Folder, name: string, facts: Facts) => T,
): T | undefined {
  using parent = tree.openBelowIfThere(parentPath(path));
  const name = baseName(path);
  const facts = parent?.facts(name);
  return parent === undefined || facts === undefined ? undefined : read(parent, name, facts);
}
