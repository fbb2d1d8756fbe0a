import { type Facts, lastAllocated } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { walkBelow } from "./walk.ts";

const ENTRIES_A_STEP = 200;

/**
 * The bytes on disk of the folders at these paths, with all their contents, while other processes work there:
 * entries that vanish meanwhile are skipped, and so are those that do not count. A file with several names
 * counts once. Yields the sum so far now and then.
 */
export function* diskUse(
  parent: Folder,
  paths: readonly string[],
  counts: (path: string, facts: Facts) => boolean = () => true,
): Generator<number, number, undefined> {
  let [bytes, entries] = [0, 0];
  const linked = new Set<string>();
  for (const path of paths)
    for (const { path: at, facts } of walkBelow(parent, path)) {
      if (counts(at, facts) && isNew(facts, linked)) bytes += lastAllocated();
      entries += 1;
      if (entries % ENTRIES_A_STEP === 0) yield bytes;
    }
  return bytes;
}

function isNew({ kind, nlink, device, ino }: Facts, linked: Set<string>): boolean {
  if (kind === "directory" || nlink === 1) return true;
  const identity = `${device} ${ino}`;
  const before = linked.size;
  return linked.add(identity).size > before;
}
