import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Attention } from "../../core/strategy.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { LandedPart } from "./landed-part.ts";

/** The place to which the work is put back. */
export interface WorkPlace {
  open(): Folder;
  /** Whether the place was removed: then the entries that were taken out of it stay in their slots. */
  isGone(): boolean;
  /**
   * Called when everything is back, before the last trace of the landing goes: after a crash later, no record
   * would lead to this call.
   */
  markWhole(): void;
  /** Called with the part that was taken back of a landing that had begun. */
  takeBack?(part: LandedPart): void;
}

/** Reports a landing whose sandbox is gone, so that nothing can be put back. */
export function keptAfterLoss({ path }: Folder): Attention {
  return {
    path: ROOT_PATH,
    message: "its sandbox is gone; what was taken out of it to land is kept",
    keptAt: path,
  };
}
