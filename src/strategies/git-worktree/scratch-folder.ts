import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { newId } from "../../system/state/new-id.ts";

const POINTS = { make: failpoint("git.scratch-folder"), remove: failpoint("git.remove-scratch") };

/** A folder for one task, removed at its end. A folder that a crash leaves goes with the sandbox. */
export class ScratchFolder {
  readonly folder: Folder;
  readonly #workspace: Folder;
  readonly #name = `scratch-${newId()}`;

  constructor(workspace: Folder) {
    this.#workspace = workspace;
    workspace.createFolder(POINTS.make, this.#name, 0o700);
    this.folder = workspace.openChild(this.#name);
  }

  [Symbol.dispose](): void {
    this.folder.close();
    removeTree(POINTS.remove, this.#workspace, this.#name);
  }
}
