import { parentPath } from "../core/byte-path.ts";
import type { ProgramView } from "../core/strategy.ts";

/** A sandbox and where a command finds it. */
export interface Shown {
  readonly sandboxId: string;
  /** The path at which it is shown: the original's, or for a file whose whole folder is shown, that folder's. */
  readonly at: string;
  readonly view: ProgramView;
  /** The original is a file, and only that is shown. */
  readonly isFile: boolean;
}

/** Where a view of this original goes. */
export function shownAt(sandboxId: string, original: string, view: ProgramView, isFile: boolean): Shown {
  const isFolder = view.only !== undefined || !isFile;
  return {
    sandboxId,
    at: view.only === undefined ? original : parentPath(original) || "/",
    view,
    isFile: !isFolder,
  };
}
