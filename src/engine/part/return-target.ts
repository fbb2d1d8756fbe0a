import type { ReturnTarget } from "../landing/landings.ts";
import { isGone, isLive, type SandboxTree } from "../sandbox/sandbox-tree.ts";

/** The tree of a sandbox as the target that unstaged work returns to. */
export function returnTargetOf(tree: SandboxTree): ReturnTarget {
  return {
    open: () => tree.openOwn(),
    isGone: () => isGone(tree),
    markWhole: () => tree.markFresh(),
    takeBack: async (part) => {
      const { takeBack } = await import("./rebase-after-part.ts");
      if (part.manifest.part !== undefined && isLive(tree)) await takeBack(part, tree);
    },
  };
}
