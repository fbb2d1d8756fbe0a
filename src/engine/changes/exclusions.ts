import { SandboxCommitError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { isExcluded, type Scope } from "../workspace/scope.ts";
import type { ChangeSet, TreeEntry } from "./change-set.ts";

/**
 * A resource of its own inside of a folder, such as a database, is no part of the folder: whatever is found
 * at its paths is neither shown nor landed. Nor is the time of the folder that it is in, unless something
 * else was changed there: a program that works on it changes that too.
 */
export function withoutExcluded(found: ChangeSet, scope: Scope): ChangeSet {
  const { without } = scope;
  if (without === undefined) return found;
  const changes = found.changes.filter(({ path }) => !isExcluded(scope, path));
  const entries = found.entries.filter(({ path }) => !isExcluded(scope, path));
  const around = new Set(without.map(parentPath));
  const touched = new Set(entries.map(({ path }) => parentPath(path)));
  const folderTimes = found.folderTimes.filter(({ path }) => !around.has(path) || touched.has(path));
  return { ...found, changes, entries, folderTimes };
}

/**
 * Refuses to land what would take along a resource of its own: its folder was removed, or another one is in
 * its place.
 */
export function assertKeepsExcluded({ entries }: ChangeSet, { without = [] }: Scope): void {
  for (const inside of without) {
    const taking = entries.find((entry) => takes(entry, inside));
    if (taking === undefined) continue;
    throw new SandboxCommitError(
      `${displayPath(taking.path)} would be removed or replaced, but ${displayPath(inside)} is in it, which is a resource of its own.`,
      {
        hint: `Bring ${displayPath(taking.path)} back in the sandbox, or leave that resource out of the plan.`,
      },
    );
  }
}

function takes({ path, operation }: TreeEntry, inside: string): boolean {
  return operation !== "metadata" && path !== ROOT_PATH && isAtOrBelow(inside, path);
}
