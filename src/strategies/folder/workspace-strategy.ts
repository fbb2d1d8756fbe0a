import { InterruptedError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { Resource } from "../../core/resource/resource.ts";
import { type SandboxRef, sandboxIdFor } from "../../core/sandbox.ts";
import type {
  Attention,
  CommitResult,
  IntendedPlace,
  PreparedCommit,
  StrategyContext,
  Transaction,
} from "../../core/strategy.ts";
import { beginRestore, finishRestore, removeCheckpoint } from "../../engine/checkpoint/tree-checkpoints.ts";
import {
  notCreated,
  openPlaceIfThere,
  openPlaceOf,
  placeOf,
} from "../../engine/sandbox/sandbox-reference.ts";
import { LongWork } from "../../engine/work/long-work.ts";
import {
  makeWorkspace,
  removeAllBut,
  removeUnfinished,
  removeWorkspace,
} from "../../engine/workspace/workspace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { flush } from "../../system/data/flush.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import { newId } from "../../system/state/new-id.ts";

const FLUSH = failpoint("hold.flush");
/** What no command writes to. */
const SAVED: ReadonlySet<string> = new Set(["checkpoints", "landings", "git-landings"]);
const REMOVAL = {
  point: failpoint("cleanup.remove"),
  keeps: ["landings", "git-landings", "submodules", "closed"],
};

/** The part of a reference that is known before the strategy decides anything. */
export type NewReference = Pick<SandboxRef, "sandboxId" | "planId" | "resourceId" | "strategyName">;

/** A sandbox that is about to be made. */
export interface NewSandbox {
  readonly ref: SandboxRef;
  /** Everything that `make` may make. */
  readonly places: readonly IntendedPlace[];
  make(workspace: Folder): Promise<void>;
}

/** What a workspace holds. */
export interface WorkspaceContent {
  readonly isFinished: boolean;
  /** Its work has landed: it is made anew before its next use. */
  readonly isStale: boolean;
}

/** A restore that is under way: the folder of the checkpoint, and what was noted with it. */
export interface SavedWork {
  readonly checkpoint: Folder;
  readonly notes: Buffer;
}

/**
 * The life of a sandbox that lives in a workspace: it is made, opened, made anew once its work has landed,
 * restored and removed. A subclass says what is in the workspace, and lands it.
 */
export abstract class WorkspaceStrategy<Sandbox extends Disposable> {
  abstract readonly name: string;
  protected readonly context: StrategyContext;
  protected readonly work: LongWork;

  constructor(context: StrategyContext) {
    this.context = context;
    this.work = new LongWork(context);
  }

  /** Decides about a new sandbox. Makes nothing yet. */
  protected abstract design(made: NewReference, resource: Resource): Promise<NewSandbox>;

  protected abstract contentOf(ref: SandboxRef, workspace: Folder): WorkspaceContent;

  /** Whether there is a landing: one under way, or an undo record. */
  protected abstract hasLandings(ref: SandboxRef, workspace: Folder): boolean;

  /** The sandbox in a workspace, ready for use. Disposing of it closes the workspace. */
  protected abstract sandboxIn(ref: SandboxRef, workspace: Folder): Sandbox;

  /** Makes the content anew, from the original as it is now. */
  protected abstract remake(ref: SandboxRef, workspace: Folder): Promise<void>;

  /** Refuses a restore that could not be done, before anything is touched. */
  protected abstract assertRestorable(
    ref: SandboxRef,
    workspace: Folder,
    checkpointId: string,
  ): Promise<void>;

  /** Brings the content back to a checkpoint. May be repeated after a crash in the middle. */
  protected abstract bringBack(ref: SandboxRef, workspace: Folder, saved: SavedWork): Promise<void>;

  /** Called before the content is removed: ends its use, and removes what is outside of the workspace. */
  protected abstract release(ref: SandboxRef, workspace: Folder | undefined): Promise<void>;

  /** Removes the undo record of a landing. */
  protected abstract forgetLanding(
    ref: SandboxRef,
    workspace: Folder,
    prepared: PreparedCommit,
  ): Promise<void>;

  /**
   * The failpoint of each removal, and the names that an undo needs: `landings` holds undo records, and
   * entries kept for another writer; `git-landings` and `submodules` those of repositories; `closed` the
   * change times that an undo goes by (sandbox-door.ts).
   */
  protected readonly removal: { readonly point: Failpoint; readonly keeps: readonly string[] } = REMOVAL;

  abstract prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null>;
  abstract commitPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<CommitResult>;
  abstract rollbackPrepared(ref: SandboxRef, transaction: Transaction): Promise<readonly Attention[]>;

  async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const { stateDir } = this.context;
    const sandboxId = sandboxIdFor(planId, resource.id);
    const made = { sandboxId, planId, resourceId: resource.id, strategyName: this.name };
    const { ref, places, make } = await this.design(made, resource);
    removeUnfinished(stateDir, sandboxId, (earlier) => this.#isInUse(ref, earlier));
    await this.context.recordIntent(ref, places);
    try {
      using workspace = makeWorkspace(stateDir, sandboxId, placeOf(ref));
      await make(workspace);
      return ref;
    } catch (thrown) {
      await this.cleanup(ref);
      throw thrown instanceof InterruptedError ? thrown : notCreated(displayPath(resource.location), thrown);
    }
  }

  /** Lands the work of one sandbox alone, in a transaction of its own that no journal records. */
  async commit(ref: SandboxRef): Promise<CommitResult> {
    const transaction: Transaction = { id: `alone-${newId()}`, planId: ref.planId, direction: "commit" };
    try {
      const prepared = await this.prepare(ref, transaction);
      if (prepared === null) return { changes: 0, attention: [] };
      return await this.commitPrepared(ref, transaction, prepared);
    } catch (thrown) {
      await this.rollbackPrepared(ref, transaction);
      throw thrown;
    }
  }

  async discardUndo(ref: SandboxRef, _transaction: Transaction, prepared: PreparedCommit): Promise<void> {
    using workspace = openPlaceIfThere(ref);
    if (workspace !== undefined) await this.forgetLanding(ref, workspace, prepared);
    this.#removeUnlessInUse(ref, workspace);
  }

  /** Replaces an earlier restore that failed or was interrupted, instead of continuing it. */
  async restoreCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    using workspace = openPlaceOf(ref);
    await this.assertRestorable(ref, workspace, checkpointId);
    beginRestore(workspace, checkpointId);
    (await this.open(ref))[Symbol.dispose]();
  }

  async discardCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    using workspace = openPlaceIfThere(ref);
    if (workspace !== undefined) removeCheckpoint(workspace, checkpointId);
  }

  async cleanup(ref: SandboxRef): Promise<void> {
    using workspace = openPlaceIfThere(ref);
    await this.release(ref, workspace);
    if (workspace !== undefined) removeAllBut(this.removal.point, workspace, this.removal.keeps);
    this.#removeUnlessInUse(ref, workspace);
  }

  /** Whether the commands inside stand still, and go on after the present call. */
  protected standsStill({ planId }: SandboxRef): boolean {
    return this.context.standsStill?.(planId) === true;
  }

  /**
   * Flushes a sandbox in which commands stand still. A program that writes to a mapped file changes its
   * times only once after each flush, and by these a later look knows that it was written.
   */
  protected async flushHeld(ref: SandboxRef, workspace: Folder): Promise<void> {
    if (!this.standsStill(ref)) return;
    const names = workspace.names().filter((name) => !SAVED.has(name));
    await flush(FLUSH, workspace, () => names.map((name) => ({ parent: workspace, name })));
  }

  /** Opens a sandbox for use. Makes it anew first if its work has landed, and finishes a restore. */
  protected async open(ref: SandboxRef): Promise<Sandbox> {
    const workspace = openPlaceOf(ref);
    try {
      if (this.contentOf(ref, workspace).isStale) await this.remake(ref, workspace);
      else
        await finishRestore(workspace, (checkpoint, notes) =>
          this.bringBack(ref, workspace, { checkpoint, notes }),
        );
      return this.sandboxIn(ref, workspace);
    } catch (thrown) {
      workspace.close();
      throw thrown;
    }
  }

  /** A landed transaction's undo record keeps the workspace. */
  #removeUnlessInUse(ref: SandboxRef, workspace: Folder | undefined): void {
    if (workspace === undefined || !this.#isInUse(ref, workspace))
      removeWorkspace(this.context.stateDir, ref.sandboxId, placeOf(ref));
  }

  #isInUse(ref: SandboxRef, workspace: Folder): boolean {
    return this.contentOf(ref, workspace).isFinished || this.hasLandings(ref, workspace);
  }
}
