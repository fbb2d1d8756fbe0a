import type { Folder } from "../../system/calls/folder.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import { isStrictlyBelow } from "../view/view-mount.ts";

/** A path of the user's home, and where a link in its place leads. */
interface HomeLink {
  readonly path: string;
  readonly to: string;
}

/** Puts a link into a home of the plan, in the folders that lead to it, unless something is there. */
export function linkInHome(point: Failpoint, own: Folder, home: string, { path, to }: HomeLink): void {
  if (!isStrictlyBelow(path, home)) return;
  using parent = foldersTo(point, own, path.slice(home.length + 1));
  const name = path.slice(path.lastIndexOf("/") + 1);
  if (parent !== undefined && parent.facts(name) === undefined) parent.createLink(point, name, to);
}

/**
 * The folder of a path in a home of the plan; made if it is missing. Undefined if a link or a file is in its
 * place.
 */
export function foldersTo(point: Failpoint, own: Folder, path: string): Folder | undefined {
  let folder = own.duplicate();
  for (const name of path.split("/").slice(0, -1)) {
    using parent = folder;
    const kind = parent.facts(name)?.kind ?? "directory";
    if (kind !== "directory") return undefined;
    folder = parent.ensureFolder(point, name);
  }
  return folder;
}
