import type { Folder } from "../../system/calls/folder.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import type { Age } from "../base/age.ts";
import type { OwnTouches } from "../base/own-touches.ts";
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

  markStale(): void {
    this.notes.markStale();
  }

  markFresh(): void {
    this.notes.markFresh();
  }
}
