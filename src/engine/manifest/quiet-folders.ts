import { parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { Age } from "../base/own-touches.ts";
import type { EntryIdentity, QuietFolder } from "./manifest.ts";

interface Landing {
  readonly path: string;
  readonly operation: string;
  readonly before?: Pick<EntryIdentity, "kind"> | undefined;
}

/**
 * The folders whose change time this landing moves as a side effect, and that no other writer has changed
 * since T0: the folders that hold an entry, and the folders whose own metadata or time the landing sets.
 */
export function quietFolders(
  original: Folder,
  entries: readonly Landing[],
  withOtherTimes: Iterable<string>,
  age: Age,
): QuietFolder[] {
  const isItself = ({ path, operation, before }: Landing) =>
    path === ROOT_PATH || (operation === "metadata" && before?.kind === "directory");
  const paths = new Set(
    entries.flatMap((entry) => [parentPath(entry.path), ...(isItself(entry) ? [entry.path] : [])]),
  );
  for (const path of withOtherTimes) paths.add(path);
  return [...paths].flatMap((path) => {
    using folder = original.openBelowIfThere(path);
    if (folder === undefined) return [];
    const facts = folder.ownFacts();
    const { mode, uid, gid } = facts;
    return age.isSince(facts) ? [] : [{ path, mode, uid, gid }];
  });
}
