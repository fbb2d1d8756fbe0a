import type { Conflict } from "../../core/errors/errors.ts";
import { joinPath, nearest, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { identityKey } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { Baseline } from "../base/baseline.ts";
import type { ChangeSet, TreeEntry } from "../changes/change-set.ts";
import { printsOf, type SavedChanges, type SavedEntry } from "./saved-changes.ts";

/** The steps that make a copied tree differ from its baseline exactly as a checkpoint says. */
export interface RestorePlan {
  /** Entries that return to the baseline, in path order. */
  readonly reverts: readonly TreeEntry[];
  /** Paths in them that are copied from the original, folders before their contents. */
  readonly fromOriginal: readonly string[];
  /** Entries that get the checkpoint's version, in path order. */
  readonly applies: readonly SavedEntry[];
  /** Folders that stay, but whose contents or time change. */
  readonly folders: ReadonlySet<string>;
}

/** Compares the tree with the checkpoint. Entries untouched since the checkpoint stay. */
export function planRestore(
  now: ChangeSet,
  own: Folder,
  saved: SavedChanges,
  baseline: Baseline,
): RestorePlan {
  const prints = printsOf(now, own);
  const isSame = ({ path, print }: SavedEntry) => prints.get(path) === print;
  const same = new Set(saved.entries.filter(isSame).map(({ path }) => path));
  const replaced = new Set(
    saved.entries.filter(({ operation }) => operation !== "metadata").map(({ path }) => path),
  );
  const reverts = [...now.entries].filter(
    ({ path }) => !same.has(path) && nearest(replaced, path) === undefined,
  );
  const reverted = new Set(
    reverts.filter(({ operation }) => operation !== "metadata").map(({ path }) => path),
  );
  const applies = saved.entries.filter(
    ({ path }) => !same.has(path) || nearest(reverted, path) !== undefined,
  );
  const fromOriginal = reverts
    .filter(({ operation }) => operation === "delete" || operation === "replace")
    .flatMap(({ path }) => [...basePaths(baseline, path, replaced)]);
  const folders = new Set([...reverts, ...applies].map(({ path }) => parentPath(path)));
  for (const { path } of [...now.folderTimes, ...saved.folderTimes]) folders.add(path);
  for (const path of folders) if (nearest(replaced, path) !== undefined) folders.delete(path);
  return { reverts, fromOriginal, applies, folders };
}

/** The paths that would have to come from the original but have changed there. */
export function lostPaths(
  { fromOriginal }: RestorePlan,
  baseline: Baseline,
  isUnchanged: (path: string, base: BaseFacts) => boolean,
): Conflict[] {
  return fromOriginal
    .filter((path) => {
      const index = baseline.find(path);
      return index === undefined || !isUnchanged(path, baseline.facts(index));
    })
    .map((path) => ({ path, why: "changed in the original, from where it would have to come back" }));
}

/** The baseline's paths at and below this one, except those that the checkpoint has its own version of. */
export function* basePaths(
  baseline: Baseline,
  top: string,
  replaced: ReadonlySet<string>,
): Generator<string> {
  const first = baseline.find(top);
  if (first === undefined) return;
  const waiting: (readonly [path: string, index: number])[] = [[top, first]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [path, index] = next;
    if (replaced.has(path)) continue;
    yield path;
    const [from, to] = baseline.children(index);
    for (let at = from; at < to; at += 1) waiting.push([joinPath(path, baseline.name(at)), at]);
  }
}

/** The baseline's names of these files of the original, by identityKey. */
export function namesOfInodes(
  baseline: Baseline,
  inodes: ReadonlySet<string>,
): ReadonlyMap<string, readonly string[]> {
  const names = new Map<string, string[]>([...inodes].map((key) => [key, []]));
  if (inodes.size === 0) return names;
  const waiting: (readonly [path: string, index: number])[] = [[ROOT_PATH, baseline.root]];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const [path, index] = next;
    const [from, to] = baseline.children(index);
    for (let at = from; at < to; at += 1) {
      const below = joinPath(path, baseline.name(at));
      if (baseline.isFolder(at)) waiting.push([below, at]);
      else names.get(identityKey(baseline.facts(at)))?.push(below);
    }
  }
  return names;
}
