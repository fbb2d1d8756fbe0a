import { ROOT_PATH } from "../core/byte-path.ts";
import type { Attention } from "../core/strategy.ts";
import { failedWith } from "../system/errno.ts";
import type { Folder } from "../system/folder.ts";
import type { LandedPart } from "./landed-part.ts";
import { isLive, type SandboxTree } from "./sandbox-tree.ts";
import { takeBack } from "./settle-part.ts";

/** Where the work is put back. */
export interface WorkPlace {
  open(): Folder;
  /** Whether somebody has removed it: then what was taken out of it stays where it is. */
  isGone(): boolean;
  /** Called when everything is there again, before the last trace of the landing goes: without one, nobody would call it after a crash. */
  markWhole(): void;
  /** Called with what has been taken back of a landing that had begun. */
  takeBack?(part: LandedPart): void;
}

/** A tree as the place where its work is put back. */
export function workPlaceOf(tree: SandboxTree): WorkPlace {
  return {
    open: () => tree.openOwn(),
    isGone: () => isGone(tree),
    markWhole: () => tree.markFresh(),
    takeBack: (part) => {
      if (part.manifest.part !== undefined && isLive(tree)) takeBack(part, tree);
    },
  };
}

/** What is said of a landing that nothing can be put back from. */
export function keptAfterLoss({ path }: Folder): Attention {
  return { path: ROOT_PATH, message: "its sandbox is gone; what was taken out of it to land is kept", keptAt: path };
}

/** Whether somebody has removed what of a sandbox is its own. */
export function isGone(tree: SandboxTree): boolean {
  try {
    tree.openOwn().close();
    return false;
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "ENOTDIR")) return true;
    throw thrown;
  }
}
