import { unlessFailed } from "../../system/calls/errno.ts";
import { type Facts, lastAllocated } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";

const ENTRIES_A_STEP = 200;

/**
 * The bytes on disk of the folders at these paths, with all their contents, while other processes work there:
 * entries that vanish meanwhile are skipped. A file with several names counts once. Yields the sum so far now
 * and then. Keeps the paths of waiting folders, not handles, because a hostile program can make more folders
 * than we may open.
 */
export function* diskUse(parent: Folder, paths: readonly string[]): Generator<number, number, undefined> {
  let [bytes, entries] = [0, 0];
  const linked = new Set<string>();
  const waiting = [...paths];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    using folder = parent.openBelowIfThere(next);
    for (const name of namesIn(folder)) {
      const facts = folder?.facts(name);
      if (facts?.kind === "directory") waiting.push(`${next}/${name}`);
      if (facts !== undefined && isNew(facts, linked)) bytes += lastAllocated();
      entries += 1;
      if (entries % ENTRIES_A_STEP === 0) yield bytes;
    }
  }
  return bytes;
}

/** A removed folder can't be listed. */
function namesIn(folder: Folder | undefined): readonly string[] {
  return unlessFailed(["ENOENT"], () => folder?.names() ?? []) ?? [];
}

function isNew({ kind, nlink, device, ino }: Facts, linked: Set<string>): boolean {
  if (kind === "directory" || nlink === 1) return true;
  const identity = `${device} ${ino}`;
  const before = linked.size;
  return linked.add(identity).size > before;
}
