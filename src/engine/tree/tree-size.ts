import { unlessFailed } from "../../system/calls/errno.ts";
import type { Folder } from "../../system/calls/folder.ts";

/**
 * The sum of the sizes of all files of an entry. Skips mount points, folders that refuse us, and entries that
 * vanish meanwhile. Without recursion, because folders may be deeper than any stack.
 */
export function treeSize(parent: Folder, name: string): number {
  const first = parent.facts(name);
  if (first === undefined) return 0;
  const { mountId } = first;
  let bytes = first.kind === "directory" ? 0 : first.size;
  const open = [first.kind === "directory" ? ifAllowed(() => parent.openBelowIfThere(name)) : undefined];
  try {
    while (open.length > 0) {
      using folder = open.pop();
      for (const child of folder?.names() ?? []) {
        const facts = ifAllowed(() => folder?.facts(child));
        if (facts === undefined || facts.mountId !== mountId) continue;
        if (facts.kind === "directory") open.push(ifAllowed(() => folder?.openBelowIfThere(child)));
        else bytes += facts.size;
      }
    }
  } finally {
    for (const folder of open) folder?.close();
  }
  return bytes;
}

function ifAllowed<T>(look: () => T): T | undefined {
  return unlessFailed(["EACCES"], look);
}
