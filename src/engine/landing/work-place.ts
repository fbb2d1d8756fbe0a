import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Attention } from "../../core/strategy.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { LandedPart } from "./landed-part.ts";

/** Where the work is put back. */
export interface WorkPlace {
  open(): Folder;
  /** Whether it was removed: then the entries that were taken out of it stay where they are. */
  isGone(): boolean;
  /**
   * Called when everything is there again, before the last trace of the landing goes: after that a crash
   * would leave nothing that calls it.
   */
  markWhole(): void;
  /** Called with what has been taken back of a landing that had begun. */
  takeBack?(part: LandedPart): void;
}

/** Names a landing whose sandbox is gone, so that nothing can be put back. */
export function keptAfterLoss({ path }: Folder): Attention {
  return {
    path: ROOT_PATH,
    message: "its sandbox is gone; what was taken out of it to land is kept",
    keptAt: path,
  };
}
