import { SandboxCommitError } from "../../core/errors/errors.ts";
import { displayPath, isAtOrBelow } from "../../core/paths/byte-path.ts";
import { sameIdentity } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readRef } from "../git-worktree/repository/ref-files.ts";
import { readLog } from "../git-worktree/repository/ref-log.ts";
import type { SandboxParts } from "../git-worktree/sandbox-parts.ts";
import { treeOfIndex } from "./index-tree.ts";
import type { OpenRepository } from "./open-repository.ts";

/**
 * Other worktrees of the same repository, which lie in the sandbox too. Their files land, and so do their
 * HEAD, index and log below `worktrees/NAME`, as files. What these name has to be among the objects that
 * land.
 */
export interface NestedObjects {
  readonly objects: readonly string[];
  readonly trees: readonly string[];
}

/** The folders in which programs changed something of another worktree. */
export function otherWorktrees({ own, common }: OpenRepository): readonly string[] {
  using worktrees = common.openBelowIfThere("worktrees");
  return (worktrees?.names() ?? []).flatMap((name) => {
    using worktree = worktrees?.openBelowIfThere(name);
    const isOther = worktree !== undefined && !sameIdentity(worktree.ownFacts(), own.ownFacts());
    return isOther ? [`worktrees/${name}`] : [];
  });
}

export async function nestedObjects(parts: SandboxParts, repository: OpenRepository): Promise<NestedObjects> {
  const [objects, trees]: [string[], string[]] = [[], []];
  for (const path of otherWorktrees(repository)) {
    using worktree = repository.common.openBelow(path);
    objects.push(...namedBy(worktree));
    if (worktree.facts("index")?.kind !== "file") continue;
    const index = await treeOfIndex(parts, worktree, "index");
    if ("broken" in index) throw broken(path, index.broken);
    trees.push(index.tree);
  }
  return { objects, trees };
}

/** Whether a worktree lies in the sandbox, so that it follows what lands there. */
export function isNested(worktree: string, { checkout }: SandboxParts): boolean {
  const { root, gitDir, commonDir } = checkout;
  return isAtOrBelow(worktree, gitDir === `${root}/.git` ? root : commonDir);
}

function namedBy(worktree: Folder): string[] {
  const head = readRef(worktree, "HEAD") ?? "";
  const lines = readLog(worktree, "HEAD")?.split("\n") ?? [];
  return [head, ...lines.map((line) => line.split(" ")[1] ?? "")];
}

function broken(path: string, why: string): SandboxCommitError {
  return new SandboxCommitError(
    `The index of ${displayPath(path)} in the sandbox has conflicts, or can't be read: ${why}`,
    { hint: "Look at 'git status' in that worktree, resolve what is open, and apply again." },
  );
}
