import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import { suspectSince } from "../../engine/part/base-move.ts";
import type { CopiedEntry } from "../../engine/tree/copy-tree.ts";
import { readEntry } from "../../engine/tree/open-parent.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";

/** The read-only base snapshot, as the original of the writable one: both are of one instant. */
export class BaseSnapshot {
  readonly #folder: Folder;
  /** Taken before the base was made. It also identifies the base, because no other one has it. */
  readonly barrier: Time;

  constructor(folder: Folder, barrier: Time) {
    this.#folder = folder;
    this.barrier = barrier;
  }

  entry(path: string): CopiedEntry | undefined {
    return readEntry(this.#folder, path, (folder, name, facts) => ({
      path,
      original: facts,
      copy: suspectSince(this.barrier, facts),
      xattrs: readXattrs(folder, name),
      ...(facts.kind === "symlink" && { target: folder.readLink(name) }),
    }));
  }

  /**
   * The names in a folder. The base also holds the workspaces that were in the original; these are left out.
   */
  names(path: string): readonly string[] {
    using folder = this.#folder.openBelowIfThere(path);
    const names = folder?.names() ?? [];
    return path === ROOT_PATH ? names.filter((name) => !OWN_NAME.test(name)) : names;
  }
}
