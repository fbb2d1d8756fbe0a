import { SandboxCommitError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { isExcluded, type Scope } from "../workspace/scope.ts";
import type { ChangeSet, TreeEntry } from "./change-set.ts";
import { fitting } from "./rows.ts";

/**
 * Drops the changes at excluded paths. A resource of its own inside a folder, such as a database, does not
 * belong to the folder: its paths are neither shown nor landed. The time of the folder that holds it counts
 * only if something else changed there, because programs that work on that resource move it too.
 */
export function withoutExcluded(found: ChangeSet, scope: Scope): ChangeSet {
  const { without } = scope;
  if (without === undefined) return found;
  const belongs = ({ path }: { readonly path: string }) => !isExcluded(scope, path);
  const [changes, entries] = [fitting(found.changes, belongs), fitting(found.entries, belongs)];
  const around = new Set(without.map(parentPath));
  const touched = new Set(
    Iterator.from(entries)
      .map(({ path }) => parentPath(path))
      .filter((path) => around.has(path)),
  );
  const folderTimes = fitting(found.folderTimes, ({ path }) => !around.has(path) || touched.has(path));
  return { ...found, changes, entries, folderTimes };
}

/** Refuses an entry that would remove or replace a folder around a resource of its own. */
export function assertKeepsExcluded({ entries }: ChangeSet, { without = [] }: Scope): void {
  for (const inside of without) {
    const taking = Iterator.from(entries).find((entry) => takes(entry, inside));
    if (taking === undefined) continue;
    throw new SandboxCommitError(
      `${displayPath(taking.path)} would be removed or replaced, but ${displayPath(inside)} is in it, which does not belong to this resource.`,
      {
        hint: `Bring ${displayPath(taking.path)} back in the sandbox, or leave it out of what lands.`,
      },
    );
  }
}

function takes({ path, operation }: TreeEntry, inside: string): boolean {
  return operation !== "metadata" && path !== ROOT_PATH && isAtOrBelow(inside, path);
}
