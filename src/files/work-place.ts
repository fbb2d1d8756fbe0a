import type { Folder } from "../system/folder.ts";
import type { LandedPart } from "./landed-part.ts";
import type { SandboxTree } from "./sandbox-tree.ts";
import { isLive, takeBack } from "./settle-part.ts";

/** Where the work is put back. */
export interface WorkPlace {
  open(): Folder;
  /** Called when everything is there again, before the last trace of the landing goes: without one, nobody would call it after a crash. */
  markWhole(): void;
  /** Called with what has been taken back of a landing that had begun. */
  takeBack?(part: LandedPart): void;
}

/** A tree as the place where its work is put back. */
export function workPlaceOf(tree: SandboxTree): WorkPlace {
  return {
    open: () => tree.openOwn(),
    markWhole: () => tree.markFresh(),
    takeBack: (part) => {
      if (part.manifest.part !== undefined && isLive(tree)) takeBack(part, tree);
    },
  };
}
