import { basename, dirname, join } from "node:path";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { Folder } from "../../system/calls/folder.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import { makeScratchFolder } from "../../system/state/scratch-folder.ts";

const POINT = "conformance.folder" as Failpoint;

/** The folder of one case, with the folders that a bench needs. Removed with its content. */
export class SuiteFolder {
  readonly path: string;

  constructor(parent?: string) {
    this.path = makeScratchFolder("drydock-conformance", parent);
    using folder = Folder.open(this.path);
    for (const name of ["state", "oracle", "outside"]) folder.createFolder(POINT, name, 0o700);
  }

  get statePath(): string {
    return join(this.path, "state");
  }

  [Symbol.dispose](): void {
    using parent = Folder.open(dirname(this.path));
    removeTree(POINT, parent, basename(this.path));
  }
}
