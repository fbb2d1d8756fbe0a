import { parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { walkBelow } from "./walk.ts";

/** A symbolic link that leads out of the tree in which it is. */
export interface LinkOut {
  readonly path: string;
  readonly target: string;
}

/** Bounds of a look at a tree: entries to look at, links to find, and paths that are not looked at. */
interface Bounds {
  readonly entries: number;
  readonly links: number;
  readonly without: readonly unknown[];
}

/**
 * Links in a tree that lead out of it, wherever that is on the machine: with a path from the root, or with
 * more steps upward than there are. Looks only at so many entries.
 */
export function linksOut(root: Folder, { entries, links, without }: Bounds): readonly LinkOut[] {
  const found: LinkOut[] = [];
  let seen = 0;
  const enters = ({ path }: { readonly path: string }) => !without.includes(path);
  for (const { path, parent, name, facts } of walkBelow(root, ROOT_PATH, { enters, skipsRefused: true })) {
    if (facts.kind === "symlink") {
      const target = parent.readLink(name);
      if (leadsOut(path, target)) found.push({ path, target });
    }
    seen += 1;
    if (seen >= entries || found.length >= links) break;
  }
  return found;
}

/** Follows the words of a link, not other links: these are judged by themselves. */
function leadsOut(path: string, target: string): boolean {
  if (target.startsWith("/")) return true;
  const parent = parentPath(path);
  let depth = parent === ROOT_PATH ? 0 : parent.split("/").length;
  for (const name of target.split("/")) {
    if (name === "..") depth -= 1;
    else if (name !== "" && name !== ".") depth += 1;
    if (depth < 0) return true;
  }
  return false;
}
