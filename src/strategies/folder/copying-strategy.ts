import type { TwoPhaseCapabilities } from "../../core/capabilities.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { StrategyContext } from "../../core/strategy.ts";
import type { ProbeResult } from "../../core/strategy-abilities.ts";
import type { OwnTouches } from "../../engine/base/own-touches.ts";
import type { ChangeSet } from "../../engine/changes/change-set.ts";
import {
  assertRestorable,
  type RestoredTree,
  restoreChanges,
} from "../../engine/checkpoint/restore-changes.ts";
import {
  pathsToCopy,
  type SavedChanges,
  savedChanges,
  savedIn,
} from "../../engine/checkpoint/saved-changes.ts";
import {
  type NewCheckpoint,
  notesOf,
  openEntries,
  saveEntries,
} from "../../engine/checkpoint/tree-checkpoints.ts";
import { BaseMoves } from "../../engine/part/base-moves.ts";
import type { OpenSandbox } from "../../engine/sandbox/sandbox-reference.ts";
import type { BegunRestore } from "../../engine/sandbox/sandbox-tree.ts";
import { runAtOnce, type Steps } from "../../engine/work/pace.ts";
import { type Scope, scopeOf } from "../../engine/workspace/scope.ts";
import { choosePlace } from "../../engine/workspace/workspace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { CopiedTree, type CopyMode, treePath } from "./copied-tree.ts";
import { FolderStrategy } from "./folder-strategy.ts";
import { whyNoRoom } from "./room-for-copy.ts";

/** The properties of a strategy that works on a copy of a folder or file. */
export interface CopyingOptions {
  readonly name: string;
  readonly data: CopyMode;
  readonly capabilities: TwoPhaseCapabilities;
}

type Sandbox = OpenSandbox<CopiedTree>;

/**
 * The strategy of sandboxes that are copies of their original. `filesystem_copy` and `copy_on_write` differ
 * only in how they copy the content of a file.
 */
export class CopyingStrategy extends FolderStrategy<CopiedTree> {
  readonly #data: CopyMode;
  /** The examined state of a sandbox, from the last check whether a checkpoint can be restored. */
  #examined: (ExaminedTree & { readonly path: string }) | undefined;

  constructor(context: StrategyContext, { name, data, capabilities }: CopyingOptions) {
    super(context, name, capabilities);
    this.#data = data;
  }

  async path(ref: SandboxRef): Promise<string> {
    using sandbox = await this.open(ref);
    return sandbox.tree.path;
  }

  override async probe(resource: Resource): Promise<ProbeResult> {
    const scope = scopeOf(resource);
    const reason = whyNoRoom(choosePlace(this.context.stateDir, "probe", scope), scope);
    return reason === undefined ? { works: true } : { works: false, reason };
  }

  protected treeIn(workspace: Folder, scope: Scope, touches: OwnTouches): CopiedTree {
    return new CopiedTree(workspace, scope, this.#data, touches);
  }

  protected programPath(workspace: string, scope: Scope): string {
    return treePath(workspace, scope);
  }

  protected *saveCheckpoint(
    { own, workspace, original, tree }: Sandbox,
    made: NewCheckpoint,
    changes: () => ChangeSet,
  ): Steps {
    const { age } = tree;
    const lastMove = new BaseMoves(workspace).last;
    const saved: SavedChanges = {
      ...savedChanges(
        changes(),
        own,
        (path, base) => base !== undefined && age.isStillBase(original.factsBelow(path), base),
      ),
      ...(lastMove > 0 && { lastMove }),
    };
    const notes = () => Buffer.from(JSON.stringify(saved));
    yield* saveEntries(workspace, made, { own, paths: pathsToCopy(saved) }, notes);
  }

  protected override assertExact(sandbox: Sandbox, id: string, isHeld: boolean): void {
    const { workspace, tree, original, own } = sandbox;
    const examined = examine(tree, original, own);
    assertRestorable(restoredTree(tree, { original, own, isHeld, ...examined }, notesOf(workspace, id)));
    this.#examined = { path: workspace.path, ...examined };
  }

  protected *bringTreeBack({
    workspace,
    tree,
    original,
    checkpoint,
    notes,
    isHeld,
  }: BegunRestore<CopiedTree>): Steps {
    const hasMoved = tree.returnBase(savedIn(notes));
    // Reuses the state that the check found a moment ago.
    const examined = !hasMoved && this.#examined?.path === workspace.path ? this.#examined : undefined;
    this.#examined = undefined;
    using own = tree.openOwn();
    using copies = openEntries(checkpoint);
    const found = examined ?? examine(tree, original, own);
    const restored = restoredTree(tree, { original, own, isHeld, ...found }, notes);
    yield* restoreChanges(restored, copies);
    // After a power cut, the restore continues by reading the baseline.
    tree.saveBaseline(restored.baseline, "flushed");
  }

  protected async freeze(): Promise<void> {
    // Nothing to freeze: a file that a process still writes to is copied out instead of moved (staging.ts).
  }
}

type ExaminedTree = Pick<RestoredTree, "baseline" | "now">;

function examine(tree: CopiedTree, original: Folder, own: Folder): ExaminedTree {
  return { baseline: tree.loadBaseline(), now: runAtOnce(tree.diff(original, own)) };
}

function restoredTree(
  tree: CopiedTree,
  found: ExaminedTree & Pick<RestoredTree, "original" | "own" | "isHeld">,
  notes: Buffer,
): RestoredTree {
  const { original } = found;
  return {
    ...found,
    saved: savedIn(notes),
    isSingleFile: tree.isSingleFile,
    isOriginalUnchanged: (path, base) => tree.age.isStillBase(original.factsBelow(path), base),
  };
}
