import { ScratchIndex } from "../checkout/index-files.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import { type StoredTree, storeTree } from "./store-tree.ts";

/**
 * The index of our repository that knows the files of the last store. It only saves time: the index of the
 * base gives the same result.
 */
const KNOWN = "known-index";

/** Stores the files of the worktree in our repository, except those that git ignores. */
export async function storeWork(parts: SandboxParts, signal?: AbortSignal): Promise<StoredTree> {
  using repository = parts.openRepository();
  using worktree = parts.openWorktree();
  const known = repository.facts(KNOWN) === undefined ? "index" : KNOWN;
  using index = ScratchIndex.copyOf(repository, known, parts.workspace);
  const stored = await storeTree(parts.git, parts.onWorktree(index.path), worktree, {
    untracked: "but-ignored",
    signal,
  });
  index.replace(repository, KNOWN);
  return stored;
}
