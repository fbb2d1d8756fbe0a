import type { TwoPhaseCapabilities } from "../../core/capabilities.ts";
import type { Change } from "../../core/change.ts";
import type { LastCheckpoint, SavedCheckpoint } from "../../core/checkpoint.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type {
  Attention,
  CommitResult,
  IntendedPlace,
  LandedSide,
  PreparedCommit,
  StrategyContext,
  Transaction,
} from "../../core/strategy.ts";
import { takeBarrier } from "../../engine/base/barrier.ts";
import { OwnTouches } from "../../engine/base/own-touches.ts";
import type { ChangeSet } from "../../engine/changes/change-set.ts";
import {
  dropCheckpoints,
  isRestoring,
  type NewCheckpoint,
  saveUnlessSame,
} from "../../engine/checkpoint/tree-checkpoints.ts";
import type { TreeState } from "../../engine/checkpoint/tree-state.ts";
import type { Landings } from "../../engine/landing/landings.ts";
import { preparedLanding } from "../../engine/manifest/prepared-landing.ts";
import type { BasedPath } from "../../engine/merge/base-contents.ts";
import { dropBases, dropMerges, withBaseMoves } from "../../engine/merge/merge-record.ts";
import {
  assertSameBoot,
  newReference,
  notRolledBack,
  OpenSandbox,
  openOriginal,
  openPlaceIfThere,
  openPlaceOf,
  placeOf,
  scopeFrom,
} from "../../engine/sandbox/sandbox-reference.ts";
import { type BegunRestore, isLive, type SandboxTree } from "../../engine/sandbox/sandbox-tree.ts";
import { lazyValue } from "../../engine/work/lazy-value.ts";
import { runAtOnce, type Steps } from "../../engine/work/pace.ts";
import { landingIds } from "../../engine/workspace/landing-ids.ts";
import { type Scope, scopeOf, toEnginePath, toResourcePath } from "../../engine/workspace/scope.ts";
import { weakerPromises } from "../../engine/workspace/weaker-landing.ts";
import { choosePlace, openWorkspace, type WorkspacePlace } from "../../engine/workspace/workspace.ts";
import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { BrowsableStrategy } from "./browsable-strategy.ts";
import type { NewReference, NewSandbox, SavedWork, WorkspaceContent } from "./workspace-strategy.ts";

/**
 * The half of the strategies of folders and files that makes, saves, lands and takes back, over a workspace
 * that holds a `SandboxTree` and the landings of its work. The other half, the work in the tree, is in
 * folder-strategy.ts.
 */
export abstract class LandingStrategy<Tree extends SandboxTree> extends BrowsableStrategy<OpenSandbox<Tree>> {
  readonly name: string;
  readonly capabilities: TwoPhaseCapabilities;
  readonly #landed = lazyValue(
    async () => new (await import("../../engine/sandbox/landed-work.ts")).LandedWork(),
  );

  constructor(context: StrategyContext, name: string, capabilities: TwoPhaseCapabilities) {
    super(context);
    this.name = name;
    this.capabilities = capabilities;
  }

  /** The tree in a workspace, whether it is made yet or not. */
  protected abstract treeIn(workspace: Folder, scope: Scope, touches: OwnTouches): Tree;

  /** The path at which programs find the present or future sandbox in this workspace. */
  protected abstract programPath(workspace: string, scope: Scope): string;

  protected abstract saveCheckpoint(
    sandbox: OpenSandbox<Tree>,
    made: NewCheckpoint,
    changes: () => ChangeSet,
  ): Steps;

  /** Brings the tree back to a checkpoint. May be repeated after a crash in the middle. */
  protected abstract bringTreeBack(begun: BegunRestore<Tree>): Steps;

  /** Refuses a restore that could not be exact, before anything is touched. */
  protected assertExact(_sandbox: OpenSandbox<Tree>, _checkpointId: string, _isHeld: boolean): void {
    // A strategy that saves the whole tree can always restore it.
  }

  /** The state by which a checkpoint knows whether anything changed since the last one. */
  protected async stateOf(
    { own }: OpenSandbox<Tree>,
    changes: () => ChangeSet,
    barrier: Time,
  ): Promise<TreeState> {
    const { stateOfChanges } = await import("../../engine/checkpoint/tree-state.ts");
    return stateOfChanges(changes(), own, barrier);
  }

  /** Called with changed paths of a sandbox, and their bases, whenever these are known. */
  protected abstract seen(sandbox: OpenSandbox<Tree>, paths: Iterable<BasedPath>): void;

  /** Refuses work that is not ready to land. */
  protected abstract assertResolved(sandbox: OpenSandbox<Tree>, changes: ChangeSet): Promise<void>;

  /** Makes sure that no process works in the sandbox, or begins to. Throws `BusyError` if one does. */
  protected abstract freeze(ref: SandboxRef, workspace: Folder): Promise<void>;

  /** Everything outside of the store that may be made for a sandbox with this workspace. */
  protected intendedPlaces(place: WorkspacePlace): IntendedPlace[] {
    return [{ kind: "folder", location: place.path }];
  }

  /** Called after each operation that ends the use of a sandbox for its time, with what is in it now. */
  protected async afterUse(_ref: SandboxRef): Promise<void> {
    // Most sandboxes can be used while they are compared and landed.
  }

  abstract path(ref: SandboxRef): Promise<string>;

  protected async design(made: NewReference, resource: Resource): Promise<NewSandbox> {
    const scope = scopeOf(resource);
    const place = choosePlace(this.context.stateDir, made.sandboxId, scope);
    return {
      ref: newReference(made, place, scope, this.programPath(place.path, scope)),
      places: this.intendedPlaces(place),
      make: (workspace) => this.#make(this.tree(workspace, scope), scope),
    };
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    if (transaction.undoes !== undefined) return this.#prepareUndo(ref, transaction.undoes.prepared);
    using sandbox = await this.openFrozen(ref);
    if (transaction.afterRestart !== true) assertSameBoot(sandbox.tree);
    const found = await this.work.run("comparing", sandbox.changes());
    const { chosenContents, whatMayLand } = await import("../../engine/checks/chosen-part.ts");
    const changes = whatMayLand(found, transaction, sandbox.scope);
    await this.assertResolved(sandbox, changes);
    if (changes.entries.length === 0 && changes.folderTimes.length === 0) {
      await this.afterUse(ref);
      return null;
    }
    const { LandingRules } = await import("../../engine/checks/landing-policy.ts");
    const landings = await this.#landings(sandbox.workspace, sandbox.scope);
    const baseOf = sandbox.tree.baseLookup(sandbox.original);
    return await landings.prepare(transaction, {
      original: sandbox.original,
      sandbox: sandbox.own,
      changes,
      barrier: sandbox.tree.age.barrier,
      baseOf,
      isLayer: sandbox.tree.isMark !== undefined,
      isPart: transaction.only !== undefined,
      contents: chosenContents(transaction, sandbox.scope),
      rules: new LandingRules(this.context.policy, baseOf, changes.changes, sandbox.tree.isMark),
      beforeStaging: (landing) => sandbox.tree.noteStaged?.(sandbox.original, changes, landing),
    });
  }

  async commitPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<CommitResult> {
    const scope = scopeFrom(ref);
    using folder = openPlaceOf(ref);
    using original = openOriginal(scope);
    const tree = this.tree(folder, scope);
    const isPart = preparedLanding(prepared).isOfPart;
    if (tree.isFinished && !isPart) tree.markStale();
    const direction = transaction.direction === "undo" ? "backward" : "forward";
    const landings = await this.#landings(folder, scope);
    const result = await landings.run(original, prepared, direction);
    if (isPart) {
      const { rebaseAfterPart } = await import("../../engine/part/rebase-after-part.ts");
      await landings.withPart(original, prepared, (part) => rebaseAfterPart(part, tree, direction));
      dropBases(folder);
    }
    await this.afterUse(ref);
    return result;
  }

  async rollbackPrepared(ref: SandboxRef, transaction: Transaction): Promise<readonly Attention[]> {
    using workspace = openPlaceIfThere(ref);
    if (workspace === undefined) return [];
    const attention = await this.#takeBack(ref, workspace, transaction);
    await this.afterUse(ref);
    return attention;
  }

  async #takeBack(
    ref: SandboxRef,
    workspace: Folder,
    transaction: Transaction,
  ): Promise<readonly Attention[]> {
    const scope = scopeFrom(ref);
    const landings = await this.#landings(workspace, scope);
    if (transaction.undoes !== undefined) {
      landings.rollbackUndo(transaction.undoes.prepared);
      return [];
    }
    if (!landings.ids().includes(transaction.id)) return [];
    const { returnTargetOf } = await import("../../engine/part/return-target.ts");
    const sandbox = returnTargetOf(this.tree(workspace, scope));
    const attention = await landings.rollbackPrepared(transaction, () => openOriginal(scope), sandbox);
    if (sandbox.isGone()) await this.context.recordLoss?.(ref, "another process has removed its folder");
    return attention;
  }

  protected async forgetLanding(ref: SandboxRef, workspace: Folder, prepared: PreparedCommit): Promise<void> {
    (await this.#landings(workspace, scopeFrom(ref))).discard(prepared);
  }

  async landed(
    ref: SandboxRef,
    _transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<readonly Change[]> {
    const scope = scopeFrom(ref);
    using workspace = openPlaceOf(ref);
    const landings = await this.#landings(workspace, scope);
    return (await this.#landed()).changes(landings, prepared, (path) => toResourcePath(scope, path));
  }

  async readLanded(
    ref: SandboxRef,
    path: string,
    { prepared, side }: LandedSide,
  ): Promise<Uint8Array | undefined> {
    const scope = scopeFrom(ref);
    using workspace = openPlaceOf(ref);
    using original = openOriginal(scope);
    const asked = { path: toEnginePath(scope, path), side };
    const landings = await this.#landings(workspace, scope);
    return (await this.#landed()).read(landings, prepared, original, asked);
  }

  async rollback(ref: SandboxRef): Promise<void> {
    const scope = scopeFrom(ref);
    using folder = openPlaceOf(ref);
    using original = openOriginal(scope);
    const landings = await this.#landings(folder, scope);
    const tree = this.tree(folder, scope);
    let isRestored = false;
    try {
      await this.freeze(ref, folder);
      tree.markStale();
      for (const id of landings.ids()) await landings.revert(id, original);
      isRestored = true;
      dropCheckpoints(folder);
      await this.remake(ref, folder);
    } catch (thrown) {
      throw notRolledBack(scope.root, isRestored, thrown);
    }
    await this.afterUse(ref);
  }

  async checkpoint(ref: SandboxRef, checkpointId: string, last?: LastCheckpoint): Promise<SavedCheckpoint> {
    using sandbox = await this.openFrozen(ref);
    const barrier = takeBarrier(sandbox.workspace);
    const made = { id: checkpointId, barrier, last };
    const changes = lazyValue(() => {
      const found = runAtOnce(sandbox.changes(), this.work.adder("comparing"));
      this.seen(sandbox, found.changes);
      return found;
    });
    const state = withBaseMoves(sandbox.workspace, await this.stateOf(sandbox, changes, barrier));
    const saved = await saveUnlessSame(sandbox.workspace, made, state, () =>
      this.work.run("saving", this.saveCheckpoint(sandbox, made, changes)),
    );
    await this.afterUse(ref);
    return saved;
  }

  override async restoreCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    await super.restoreCheckpoint(ref, checkpointId);
    await this.afterUse(ref);
  }

  protected async assertRestorable(ref: SandboxRef, workspace: Folder, checkpointId: string): Promise<void> {
    await this.freeze(ref, workspace);
    if (isRestoring(workspace)) return;
    using sandbox = await this.open(ref);
    this.assertExact(sandbox, checkpointId, this.standsStill(ref));
  }

  protected async release(ref: SandboxRef, workspace: Folder | undefined): Promise<void> {
    if (workspace !== undefined) await this.freeze(ref, workspace);
  }

  /** What a landing in this original can't promise. */
  async notes(ref: SandboxRef): Promise<readonly string[]> {
    using workspace = openWorkspace(placeOf(ref).path);
    return workspace === undefined ? [] : weakerPromises(workspace);
  }

  async #prepareUndo(ref: SandboxRef, undoes: PreparedCommit): Promise<PreparedCommit> {
    const scope = scopeFrom(ref);
    using folder = openPlaceOf(ref);
    const tree = this.tree(folder, scope);
    const isLivePart = preparedLanding(undoes).isOfPart && isLive(tree);
    if (isLivePart) await this.freeze(ref, folder);
    using original = openOriginal(scope);
    const landings = await this.#landings(folder, scope);
    const prepared = await landings.prepareUndo(original, undoes);
    if (isLivePart) {
      const { prepareReturn } = await import("../../engine/part/rebase-after-part.ts");
      await landings.withPart(original, undoes, (part) => prepareReturn(part, tree));
    }
    return prepared;
  }

  /** Loaded when it is needed: most commands land nothing. */
  async #landings(workspace: Folder, scope: Scope): Promise<Landings> {
    const { Landings } = await import("../../engine/landing/landings.ts");
    return new Landings(workspace, this.touches(workspace, scope), this.work);
  }

  /** The tree in a workspace, which does not take our own landings and undos for another writer's changes. */
  protected tree(workspace: Folder, scope: Scope): Tree {
    return this.treeIn(workspace, scope, this.touches(workspace, scope));
  }

  protected touches(workspace: Folder, { root }: Scope): OwnTouches {
    return new OwnTouches(this.context.stateDir, root, workspace);
  }

  protected contentOf(ref: SandboxRef, workspace: Folder): WorkspaceContent {
    return this.tree(workspace, scopeFrom(ref));
  }

  protected hasLandings(_ref: SandboxRef, workspace: Folder): boolean {
    return landingIds(workspace).length > 0;
  }

  protected sandboxIn(ref: SandboxRef, workspace: Folder): OpenSandbox<Tree> {
    const scope = scopeFrom(ref);
    return new OpenSandbox(scope, workspace, openOriginal(scope), this.tree(workspace, scope));
  }

  protected async bringBack(ref: SandboxRef, workspace: Folder, saved: SavedWork): Promise<void> {
    const scope = scopeFrom(ref);
    using original = openOriginal(scope);
    const isHeld = this.standsStill(ref);
    const begun = { workspace, tree: this.tree(workspace, scope), original, ...saved, isHeld };
    await this.work.toEnd("restoring", this.bringTreeBack(begun));
    // Waits until every change of the commands that go on has another change time than what was restored.
    if (isHeld) takeBarrier(workspace);
  }

  /** Opens a sandbox after freezing it. */
  protected async openFrozen(ref: SandboxRef): Promise<OpenSandbox<Tree>> {
    using folder = openPlaceOf(ref);
    await this.freeze(ref, folder);
    await this.flushHeld(ref, folder);
    return await this.open(ref);
  }

  protected async remake(ref: SandboxRef, workspace: Folder): Promise<void> {
    const scope = scopeFrom(ref);
    const tree = this.tree(workspace, scope);
    dropMerges(workspace);
    await this.#make(tree, scope);
    tree.markFresh();
  }

  async #make(tree: Tree, scope: Scope): Promise<void> {
    using original = openOriginal(scope);
    await this.work.run("copying", tree.make(original));
  }
}
