import { baseName, joinPath, parentPath, ROOT_PATH } from "../core/byte-path.ts";
import type { Facts } from "../system/facts.ts";
import type { Folder } from "../system/folder.ts";
import type { Baseline } from "./baseline.ts";

/**
 * After a restore every entry of a copied tree is a new file. Those that were as in the original when the checkpoint was taken are told to the
 * baseline as untouched.
 */
export function noteRestored(
  baseline: Baseline,
  changed: ReadonlySet<string>,
  own: Folder,
  restored: ReadonlyMap<string, Facts>,
): void {
  const visit = (index: number, path: string): void => {
    const copy = changed.has(path) ? undefined : lookAgain(own, path, restored.get(path));
    if (copy !== undefined) baseline.setCopy(index, copy);
    const [from, to] = baseline.children(index);
    for (let at = from; at < to; at += 1) visit(at, joinPath(path, baseline.name(at)));
  };
  visit(baseline.root, ROOT_PATH);
}

/** Making a second name of a file moved the change time of the first. */
function lookAgain(own: Folder, path: string, copied: Facts | undefined): Facts | undefined {
  if (copied === undefined || copied.nlink === 1 || copied.kind === "directory") return copied;
  using parent = own.openBelow(parentPath(path));
  return parent.facts(baseName(path));
}
