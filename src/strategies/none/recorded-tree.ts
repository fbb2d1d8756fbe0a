import { StateError } from "../../core/errors/errors.ts";
import { baseName, bytesFromPath, parentPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { Baseline } from "../../engine/base/baseline.ts";
import { BaselineBuilder } from "../../engine/base/baseline-builder.ts";
import { recordTree } from "../../engine/base/record-tree.ts";
import type { TreeChange } from "../../engine/changes/change-set.ts";
import { fitting, type Rows } from "../../engine/changes/rows.ts";
import { diffTree } from "../../engine/changes/tree-diff.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { runAtOnce, type Steps } from "../../engine/work/pace.ts";
import type { Scope } from "../../engine/workspace/scope.ts";
import { openHomes } from "../../engine/workspace/workspace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";

const POINTS = {
  create: failpoint("record.create"),
  baseline: failpoint("record.baseline"),
  remove: failpoint("record.remove"),
  noteTemporary: failpoint("record.note-temporary"),
  removeTemporary: failpoint("record.remove-temporary"),
};
const BASELINE = "baseline";
const TEMPORARY = "temporary";

/**
 * A record of every entry of a tree, in the sandbox's home: enough to show changes, not to take them back.
 * While Drydock writes a file of the tree, `temporary` in the home holds the path of a temporary file beside
 * it; the next operation on the tree removes that file if a crash left it.
 */
export class RecordedTree {
  readonly #stateDir: string;
  readonly #sandboxId: string;

  constructor(stateDir: string, sandboxId: string) {
    this.#stateDir = stateDir;
    this.#sandboxId = sandboxId;
  }

  get path(): string {
    using homes = openHomes(this.#stateDir);
    return homes.label(this.#sandboxId);
  }

  get isFinished(): boolean {
    return this.#read(BASELINE) !== undefined;
  }

  *make(original: Folder, scope: Scope): Steps {
    const builder = new BaselineBuilder();
    yield* recordTree(original, builder, ".", scope.only);
    using homes = openHomes(this.#stateDir);
    using home = homes.ensureFolder(POINTS.create, this.#sandboxId);
    writeWhole(POINTS.baseline, home, BASELINE, builder.finish(() => undefined).toBytes());
  }

  diff(original: Folder, scope: Scope): Rows<TreeChange> {
    const bytes = this.#read(BASELINE);
    if (bytes === undefined)
      throw new StateError(`The record of ${scope.root} is gone.`, {
        hint: "Cancel the plan and make a new one.",
      });
    const baseline = Baseline.fromBytes(bytes, this.#sandboxId);
    // A touched entry of the same size may have other content. Without a copy there is no way to tell, so it
    // counts as changed.
    const { changes } = runAtOnce(
      diffTree(original, baseline, {
        ...(scope.only !== undefined && { only: scope.only }),
        hasBaseContent: () => false,
      }),
    );
    const temporary = this.#temporary;
    return fitting(changes, ({ path }) => path !== temporary);
  }

  /** Records the path of a temporary file, before that file is made. */
  noteTemporary(path: string): void {
    using homes = openHomes(this.#stateDir);
    using home = homes.ensureFolder(POINTS.create, this.#sandboxId);
    writeWhole(POINTS.noteTemporary, home, TEMPORARY, bytesFromPath(path));
  }

  /** Removes the temporary file, if a crash left it. The caller must be the only one to work on the tree. */
  removeTemporary(original: Folder): void {
    const path = this.#temporary;
    if (path === undefined) return;
    using parent = original.openBelowIfThere(parentPath(path));
    if (parent?.facts(baseName(path)) !== undefined)
      parent.removeFile(POINTS.removeTemporary, baseName(path));
    using homes = openHomes(this.#stateDir);
    using home = homes.openChild(this.#sandboxId);
    home.removeFile(POINTS.removeTemporary, TEMPORARY);
  }

  remove(): void {
    using homes = openHomes(this.#stateDir);
    removeTree(POINTS.remove, homes, this.#sandboxId);
  }

  get #temporary(): string | undefined {
    const bytes = this.#read(TEMPORARY);
    return bytes === undefined ? undefined : pathFromBytes(bytes);
  }

  #read(name: string): Buffer | undefined {
    using homes = openHomes(this.#stateDir);
    using home = homes.openBelowIfThere(this.#sandboxId);
    return home === undefined ? undefined : readWhole(home, name);
  }
}
