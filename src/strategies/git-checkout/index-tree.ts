import { GitError } from "../../core/errors/errors.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { lineOf } from "../../system/process/git.ts";
import { ScratchIndex } from "../git-worktree/checkout/index-files.ts";
import { DURABLE } from "../git-worktree/repository/store-tree.ts";
import type { SandboxParts } from "../git-worktree/sandbox-parts.ts";

const WRITE_TREE = failpoint("git-checkout.write-tree");

/** The index as a tree, or why it can't be one. */
export async function treeOfIndex(
  parts: SandboxParts,
  folder: Folder,
  name: string,
): Promise<{ readonly tree: string } | { readonly broken: string }> {
  const kind = folder.facts(name)?.kind;
  if (kind !== undefined && kind !== "file") return { broken: `it is a ${kind}` };
  using index = ScratchIndex.copyOf(folder, name, parts.workspace);
  try {
    const context = parts.onCheckout(index.path);
    return {
      tree: lineOf(await parts.git.change(WRITE_TREE, context, ["write-tree"], { settings: DURABLE })),
    };
  } catch (thrown) {
    if (thrown instanceof GitError && thrown.exitCode !== undefined) return { broken: thrown.said };
    throw thrown;
  }
}
