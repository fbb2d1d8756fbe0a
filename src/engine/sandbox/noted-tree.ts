import type { Folder } from "../../system/calls/folder.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import type { Age, OwnTouches } from "../base/own-touches.ts";
import type { TreeDiffOptions } from "../changes/tree-diff.ts";
import { readEntry } from "../tree/open-parent.ts";
import { sameFileContent } from "../tree/same-entry.ts";
import { SandboxNotes } from "../workspace/sandbox-notes.ts";

/** A tree that keeps its notes in its workspace (sandbox-notes.ts). It is finished once they are there. */
export abstract class NotedTree<More extends object = object> {
  protected readonly workspace: Folder;
  protected readonly notes: SandboxNotes<More>;
  readonly #touches: OwnTouches;

  constructor(
    workspace: Folder,
    touches: OwnTouches,
    points: { readonly stale: Failpoint; readonly fresh: Failpoint },
  ) {
    this.workspace = workspace;
    this.notes = new SandboxNotes(workspace, points);
    this.#touches = touches;
  }

  get isFinished(): boolean {
    return this.notes.areThere;
  }

  get isStale(): boolean {
    return this.notes.isStale;
  }

  get isFromEarlierBoot(): boolean {
    return this.notes.isFromEarlierBoot;
  }

  get age(): Age {
    return this.#touches.since(this.notes.barrier);
  }

  /** Compares a file of the tree with the original, as long as that is still the base. */
  protected hasContentOf(original: Folder): TreeDiffOptions["hasBaseContent"] {
    const { age } = this;
    return (path, sandbox, name, base) =>
      readEntry(
        original,
        path,
        (parent, first, now) => age.isStillBase(now, base) && sameFileContent(parent, first, sandbox, name),
      ) === true;
  }

  markStale(): void {
    this.notes.markStale();
  }

  markFresh(): void {
    this.notes.markFresh();
  }
}
