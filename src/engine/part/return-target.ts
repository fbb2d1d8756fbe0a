import { failedWith } from "../../system/calls/errno.ts";
import type { ReturnTarget } from "../landing/landings.ts";
import { isLive, type SandboxTree } from "../sandbox/sandbox-tree.ts";
import { takeBack } from "./rebase-after-part.ts";

/** The tree of a sandbox as the target that unstaged work returns to. */
export function returnTargetOf(tree: SandboxTree): ReturnTarget {
  return {
    open: () => tree.openOwn(),
    isGone: () => isGone(tree),
    markWhole: () => tree.markFresh(),
    takeBack: (part) => {
      if (part.manifest.part !== undefined && isLive(tree)) takeBack(part, tree);
    },
  };
}

/** Whether the tree of a sandbox was removed. */
export function isGone(tree: SandboxTree): boolean {
  try {
    tree.openOwn().close();
    return false;
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "ENOTDIR")) return true;
    throw thrown;
  }
}
