import { baseName, bytesFromPath, parentPath } from "../../../core/paths/byte-path.ts";
import { OWN_NAME } from "../../../engine/workspace/workspace.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { type Git, type GitContext, lineOf } from "../../../system/process/git.ts";
import { assertNoLargeHoles } from "../worktree/large-holes.ts";
import { splitNul } from "./repository-config.ts";

const POINTS = {
  remove: failpoint("git.index-remove"),
  add: failpoint("git.index-add"),
  tree: failpoint("git.write-tree"),
};

/** The files of a worktree as a tree object, and the folders that it leaves out. */
export interface StoredTree {
  readonly tree: string;
  /** Folders that are repositories of their own. */
  readonly nested: readonly string[];
}

/** Settings that make git flush its writes, with one flush for many objects. */
export const DURABLE = {
  "core.fsync": "loose-object,pack,pack-metadata,reference",
  "core.fsyncMethod": "batch",
};

/** Which untracked files count. */
export type Untracked = "all" | "but-ignored";

/**
 * Stores the files of a worktree: updates an index that knows an earlier state of them, and writes it as a
 * tree. This looks at every file and reads those that changed. It does not use `git add`, which would start
 * git inside nested repositories, with the settings that it finds there.
 */
export async function storeTree(
  git: Git,
  context: GitContext,
  files: Folder,
  { untracked, signal }: { readonly untracked: Untracked; readonly signal?: AbortSignal | undefined },
): Promise<StoredTree> {
  const options = signal === undefined ? {} : { signal };
  const standard = untracked === "all" ? [] : ["--exclude-standard"];
  // The first listing looks at all tracked files, the second into all folders.
  const listings = await Promise.all(
    [
      ["-m", "-d"],
      ["-o", ...standard],
    ].map((which) => git.look(context, ["ls-files", "-z", ...which], options)),
  );
  const listed = new Set(listings.flatMap(({ stdout }) => splitNul(stdout)));
  // A workspace of ours may lie in the checkout. It is not part of the data.
  const paths = [...listed].filter((path) => !OWN_NAME.test(path));
  const nested = paths.filter((path) => path.endsWith("/")).map((path) => path.slice(0, -1));
  const { there, gone } = sorted(
    files,
    paths.filter((path) => !path.endsWith("/")),
  );
  if (gone.length > 0)
    await git.change(POINTS.remove, context, ["update-index", "--force-remove", "-z", "--stdin"], {
      input: nulTerminated(gone),
      ...options,
    });
  if (there.length > 0) {
    await git.change(
      POINTS.add,
      context,
      ["update-index", "--add", "--remove", "--replace", "--verbose", "-z", "--stdin"],
      {
        input: nulTerminated(there),
        // Git prints the name of each file, which shows that it is alive.
        onOutput: () => undefined,
        settings: DURABLE,
        ...options,
      },
    );
  }
  const tree = lineOf(
    await git.change(POINTS.tree, context, ["write-tree"], { settings: DURABLE, ...options }),
  );
  return { tree, nested };
}

/**
 * The paths that git ignores in a worktree. A folder with only ignored files is one path that ends in a
 * slash.
 */
export async function ignoredIn(git: Git, context: GitContext): Promise<readonly string[]> {
  const args = ["ls-files", "-z", "-o", "-i", "--exclude-standard", "--directory"];
  return splitNul((await git.look(context, args)).stdout);
}

/** Paths as git reads them from its standard input. */
export function nulTerminated(paths: readonly string[]): Buffer {
  return Buffer.concat(paths.flatMap((path) => [bytesFromPath(path), Buffer.alloc(1)]));
}

/**
 * Sorts paths into files and links, reached without following a link, and paths that are neither. Refuses
 * files that git can't store. Nested repositories are in neither list, so the index keeps its entries for
 * them.
 */
function sorted(
  files: Folder,
  paths: readonly string[],
): { readonly there: string[]; readonly gone: string[] } {
  const there: string[] = [];
  const gone: string[] = [];
  for (const path of paths) {
    using parent = files.openBelowIfThere(parentPath(path));
    const facts = parent?.facts(baseName(path));
    const kind = facts?.kind;
    if (parent !== undefined && facts !== undefined) assertNoLargeHoles(parent, baseName(path), facts);
    if (kind === "file" || kind === "symlink") there.push(path);
    else if (kind !== "directory" || !isRepository(parent, baseName(path))) gone.push(path);
  }
  return { there, gone };
}

function isRepository(parent: Folder | undefined, name: string): boolean {
  using folder = parent?.openBelowIfThere(name);
  return folder?.facts(".git") !== undefined;
}
