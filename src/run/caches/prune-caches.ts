import { formatSize } from "../../config/size.ts";
import { messageOf } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { diskUse } from "../../engine/tree/disk-use.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { Folder } from "../../system/calls/folder.ts";
import { writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { tryLock } from "../../system/state/lock.ts";
import { newId } from "../../system/state/new-id.ts";
import type { CachesInForce } from "../policy/cache-rules.ts";

const POINTS = {
  measured: failpoint("run.cache-measured"),
  aside: failpoint("run.cache-aside"),
  remove: failpoint("run.cache-remove"),
};
const MEASURED = "measured";
const GONE = "gone-";
/** Measuring looks at every file. */
const REST_MS = 60_000;

/**
 * Brings shared caches back under their limit, if no command uses one: whole caches go, those first whose
 * files were used least recently, because a program can miss a cache but not a part of one. A kill leaves
 * each of them whole or gone. Returns a sentence for each, or why it can't be.
 */
export function pruneCaches({ root: path, limit }: CachesInForce): readonly string[] {
  try {
    using root = Folder.open(path);
    const removed = asideIfUnused(path, limit);
    // Also what a killed prune left.
    for (const name of root.names().filter((each) => each.startsWith(GONE)))
      removeTree(POINTS.remove, root, name);
    return removed.map(
      ({ name }) =>
        `The shared caches were over their limit of ${formatSize(limit)}: that of ~/${displayPath(name)} is removed.`,
    );
  } catch (thrown) {
    return [`The shared caches can't be brought under their limit: ${messageOf(thrown)}.`];
  }
}

interface MeasuredCache {
  readonly set: string;
  /** The path in the home. */
  readonly name: string;
  readonly stored: string;
  readonly bytes: number;
  /** When a file of it was last read or written, in seconds. */
  readonly usedAt: number;
}

function asideIfUnused(path: string, limit: number): readonly MeasuredCache[] {
  using root = Folder.open(path);
  if (!isDue(root) || !tryLock(root)) return [];
  const all = measured(root).toSorted((a, b) => a.usedAt - b.usedAt);
  let bytes = all.reduce((sum, cache) => sum + cache.bytes, 0);
  const removed: MeasuredCache[] = [];
  for (const cache of all) {
    if (bytes <= limit) break;
    using set = root.openChild(cache.set);
    set.move(POINTS.aside, cache.stored, root, `${GONE}${newId()}`);
    bytes -= cache.bytes;
    removed.push(cache);
  }
  writeWhole(POINTS.measured, root, MEASURED, Buffer.alloc(0));
  return removed;
}

function isDue(root: Folder): boolean {
  const [seconds] = root.facts(MEASURED)?.mtime ?? [0];
  return Math.abs(Date.now() - seconds * 1000) >= REST_MS;
}

function measured(root: Folder): readonly MeasuredCache[] {
  const isFolder = (folder: Folder) => (name: string) => folder.facts(name)?.kind === "directory";
  return root
    .names()
    .filter((name) => !name.startsWith(GONE) && isFolder(root)(name))
    .flatMap((name) => {
      using set = root.openChild(name);
      return set
        .names()
        .filter(isFolder(set))
        .map((stored) => ({ set: name, ...measuredCache(set, stored) }));
    });
}

function measuredCache(set: Folder, stored: string): Omit<MeasuredCache, "set"> {
  let usedAt = 0;
  const steps = diskUse(set, [stored], (_, { kind, atime, mtime }) => {
    // Looking into a folder counts as reading it.
    if (kind !== "directory") usedAt = Math.max(usedAt, atime[0], mtime[0]);
    return true;
  });
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  const name = stored.replaceAll("%2F", "/").replaceAll("%25", "%");
  return { name, stored, bytes: step.value, usedAt };
}
