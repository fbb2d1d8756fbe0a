import type { Folder } from "../../../system/calls/folder.ts";
import { isThere } from "../../../system/data/existence.ts";
import { underWay } from "../checkout/checkout.ts";
import { DOT_GIT } from "../layout.ts";
import { resolveRef } from "./ref-files.ts";

/** The commit that programs have checked out; undefined if there is none, or if the repository is broken. */
export function programCommit(worktree: Folder): string | undefined {
  using repository = worktree.openBelowIfThere(DOT_GIT);
  return repository === undefined ? undefined : resolveRef(repository, "HEAD");
}

/** The operation that programs have begun there and not finished, such as "a merge". */
export function programsUnderWay(worktree: Folder): string | undefined {
  const path = worktree.label(DOT_GIT);
  return isThere(path) ? underWay(path) : undefined;
}
