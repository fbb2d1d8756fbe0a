import { parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Facts, Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { isAfter } from "../base/barrier.ts";
import type { EntryIdentity, QuietFolder } from "../manifest/manifest.ts";

interface Landing {
  readonly path: string;
  readonly operation: string;
  readonly before?: Pick<EntryIdentity, "kind"> | undefined;
}

/**
 * The folders whose change time this landing moves as a side effect, and that no other writer has changed
 * since T0: the folders that hold an entry, and the folders whose own metadata the landing sets.
 */
export function quietFolders(
  original: Folder,
  entries: readonly Landing[],
  { barrier, asBefore }: { readonly barrier: Time; readonly asBefore: (facts: Facts) => Facts },
): QuietFolder[] {
  const isItself = ({ path, operation, before }: Landing) =>
    path === ROOT_PATH || (operation === "metadata" && before?.kind === "directory");
  const paths = new Set(
    entries.flatMap((entry) => [parentPath(entry.path), ...(isItself(entry) ? [entry.path] : [])]),
  );
  return [...paths].flatMap((path) => {
    using folder = original.openBelowIfThere(path);
    if (folder === undefined) return [];
    const facts = folder.ownFacts();
    const { mode, uid, gid } = facts;
    return isAfter(asBefore(facts), barrier) ? [] : [{ path, mode, uid, gid }];
  });
}
