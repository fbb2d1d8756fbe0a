import { joinPath } from "../../core/paths/byte-path.ts";
import { compareTimes } from "../../system/calls/facts.ts";
import { originalEntry } from "../base/original-entry.ts";
import type { OpenSandbox } from "../sandbox/sandbox-reference.ts";
import type { SandboxTree } from "../sandbox/sandbox-tree.ts";
import { isExcluded } from "../workspace/scope.ts";
import { OWN_NAME } from "../workspace/workspace.ts";
import { type ConflictingEntry, conflictingEntries } from "./conflicting-entries.ts";
import type { MergeRecord } from "./merge-record.ts";

type Joined = OpenSandbox<SandboxTree>;

/**
 * Makes one folder of two that the plan and another writer made at the same path. The original's folder
 * becomes the base, and what only the original has in it comes into the sandbox. So the plan adds its files
 * to that folder, and each file that both sides added is a conflict of its own. Returns the paths.
 */
export async function joinFolders(sandbox: Joined, record: MergeRecord): Promise<readonly string[]> {
  const joined: string[] = [];
  // Folders in a joined one come up once it is joined.
  for (;;) {
    const paths = conflictingEntries(sandbox)
      .filter((entry) => isMadeByBoth(sandbox, entry))
      .map(({ path }) => path);
    if (paths.length === 0) return joined;
    if (joined.length === 0) record.note();
    const base = await sandbox.tree.base();
    base.adopt(
      sandbox.original,
      paths.map((path) => originalEntry(sandbox.original, path)),
    );
    base.takeOriginals(
      sandbox.original,
      paths.flatMap((path) => onlyInOriginal(sandbox, path)),
    );
    joined.push(...paths);
  }
}

function isMadeByBoth(
  { tree, original }: Joined,
  { path, kind, before, isBelow }: ConflictingEntry,
): boolean {
  if (isBelow || kind !== "directory" || original.factsBelow(path)?.kind !== "directory") return false;
  if (before === undefined) return true;
  // An overlay can take the other writer's folder for one that the plan replaces.
  const isTheirs = before.changedBefore === true && compareTimes(before.btime, tree.age.barrier) >= 0;
  return before.kind === "directory" && isTheirs;
}

function onlyInOriginal({ original, own, scope }: Joined, path: string): readonly string[] {
  using theirs = original.openBelow(path);
  using ours = own.openBelow(path);
  return theirs
    .names()
    .filter((name) => !OWN_NAME.test(name) && ours.facts(name) === undefined)
    .map((name) => joinPath(path, name))
    .filter((inside) => !isExcluded(scope, inside));
}
