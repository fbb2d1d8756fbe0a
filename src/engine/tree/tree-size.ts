import { unlessFailed } from "../../system/calls/errno.ts";
import type { Folder } from "../../system/calls/folder.ts";

/**
 * The size of an entry with all that is in it: the sum of the sizes of its files. What is mounted in it is
 * not part of it, and what does not let us look is not counted. Without recursion, because folders may be
 * deeper than any stack; what vanishes meanwhile was never there.
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
