import type { Loss, RunningOperation } from "../../core/capabilities.ts";
import { BusyError, messageOf, UnsupportedError } from "../../core/errors/errors.ts";
import type { ProgramView } from "../../core/program-view.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { IntendedPlace, PreparedCommit, StrategyContext, Transaction } from "../../core/strategy.ts";
import type { ProbeResult, StrategyWay } from "../../core/strategy-abilities.ts";
import { builtInStrength } from "../../core/strategy-names.ts";
import { takeBarrier } from "../../engine/base/barrier.ts";
import type { OwnTouches } from "../../engine/base/own-touches.ts";
import {
  bringLayerBack,
  isRestoring,
  type NewCheckpoint,
  openEntries,
  openSaved,
  saveLayer,
} from "../../engine/checkpoint/tree-checkpoints.ts";
import type { TreeState } from "../../engine/checkpoint/tree-state.ts";
import type { BasedPath } from "../../engine/merge/base-contents.ts";
import {
  type OpenSandbox,
  openOriginal,
  openPlaceOf,
  placeOf,
  scopeFrom,
} from "../../engine/sandbox/sandbox-reference.ts";
import { type BegunRestore, isGone } from "../../engine/sandbox/sandbox-tree.ts";
import type { Steps } from "../../engine/work/pace.ts";
import { type Scope, scopeOf } from "../../engine/workspace/scope.ts";
import { choosePlace, openWorkspace, type WorkspacePlace } from "../../engine/workspace/workspace.ts";
import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { isThere } from "../../system/data/existence.ts";
import { folderHolders } from "../../system/process/holders.ts";
import { FolderStrategy } from "../folder/folder-strategy.ts";
import type { SavedWork } from "../folder/workspace-strategy.ts";
import { BaseRecord, type Layers } from "./base-record.ts";
import { LayeredTree } from "./layered-tree.ts";
import { MERGED, OVERLAY_WAYS, type OverlayWay } from "./layout.ts";
import { OverlayMount } from "./overlay-mount-point.ts";

/**
 * A view of the original through an overlay: made in a millisecond for an original of any size, it holds only
 * the differences. Reading, writing, comparing and landing work on the layers and need no mount; only
 * programs do. Untouched paths show the original as it is now.
 */
export class OverlayStrategy extends FolderStrategy<LayeredTree> {
  readonly #allowed: readonly OverlayWay[];
  #way: OverlayWay | undefined;

  /** `allowed` lists the permitted ways to mount; the first that works is used. */
  constructor(
    context: StrategyContext,
    allowed: readonly OverlayWay[] = OVERLAY_WAYS,
    {
      strength = builtInStrength("overlay"),
      resourceTypes = RESOURCE_TYPES,
      whileRunning = WHILE_RUNNING,
    } = {},
  ) {
    super(context, "overlay", {
      commit: "two-phase",
      undo: true,
      partial: true,
      whileRunning,
      checkpoint: true,
      isolation: "view",
      strength,
      resourceTypes,
      leavesOut: true,
      loses: lossesOf(likelyWay(allowed)),
    });
    this.#allowed = allowed;
  }

  override async create(planId: string, resource: Resource): Promise<SandboxRef> {
    // Loaded late, here and below: only a new sandbox needs a trial.
    const { firstWorkingWay } = await import("./ways.ts");
    const found = await firstWorkingWay(this.context.stateDir, this.#allowed);
    if (found.way === undefined)
      throw new UnsupportedError(`overlay does not work here: ${found.reason}.`, {
        hint: "Use copy_on_write or filesystem_copy.",
      });
    this.#way = found.way;
    return await super.create(planId, resource);
  }

  override async probe(resource: Resource): Promise<ProbeResult> {
    const { firstWorkingWay } = await import("./ways.ts");
    const found = await firstWorkingWay(this.context.stateDir, this.#allowed);
    if (found.way === undefined) return { works: false, reason: found.reason };
    const reason = await this.#whyNotFor(resource, found.way);
    return reason === undefined ? { works: true, note: WAY_NOTES[found.way] } : { works: false, reason };
  }

  async ways(): Promise<readonly StrategyWay[]> {
    const { probeWay } = await import("./ways.ts");
    const ways = await Promise.all(this.#allowed.map((way) => probeWay(way, this.context.stateDir)));
    return ways.map((found) => ({
      name: found.way,
      works: found.works,
      detail: found.works ? WAY_NOTES[found.way] : found.reason,
    }));
  }

  /** Mounts the sandbox in the view of this process. It stays mounted until the work lands or goes. */
  async path(ref: SandboxRef): Promise<string> {
    using sandbox = await this.open(ref);
    const mount = new OverlayMount(sandbox.workspace, sandbox.scope);
    if (!mount.canBeMade(sandbox.tree))
      throw new UnsupportedError(
        "Without privilege this sandbox is mounted only for programs that Drydock starts.",
        { code: "NO_PATH" },
      );
    await mount.make(sandbox.tree);
    mount.keep();
    return this.programPath(sandbox.workspace.path, sandbox.scope);
  }

  async enter(ref: SandboxRef): Promise<ProgramView> {
    using sandbox = await this.open(ref);
    const { scope, workspace, tree } = sandbox;
    const only = scope.only === undefined ? {} : { only: scope.only };
    const mount = new OverlayMount(workspace, scope);
    if (mount.canBeMade(tree)) {
      await mount.make(tree);
      return { kind: "place", path: workspace.label(MERGED), ...only };
    }
    const work = mount.prepareWork(tree);
    return { kind: "layers", lower: scope.root, upper: tree.upperPath, work, source: mount.source, ...only };
  }

  async leave(ref: SandboxRef): Promise<void> {
    using sandbox = await this.open(ref);
    const mount = new OverlayMount(sandbox.workspace, sandbox.scope);
    if (mount.isKept || (await mount.end(sandbox.tree)) !== undefined) return;
    sandbox.tree.noteWork(sandbox.original);
  }

  /** Mounts the sandbox again for a user who was told its path. */
  protected override async afterUse(ref: SandboxRef): Promise<void> {
    using workspace = openWorkspace(placeOf(ref).path);
    const tree = workspace === undefined ? undefined : this.tree(workspace, scopeFrom(ref));
    if (workspace === undefined || tree?.isFinished !== true || tree.isStale || isGone(tree)) return;
    const mount = new OverlayMount(workspace, scopeFrom(ref));
    if (mount.isKept && mount.canBeMade(tree) && mount.isOverOriginal(tree)) await mount.make(tree);
  }

  protected treeIn(workspace: Folder, scope: Scope, touches: OwnTouches): LayeredTree {
    return new LayeredTree(workspace, scope, touches, {
      chooseWay: () => this.#way ?? "kernel",
      openMount: (tree) => new OverlayMount(workspace, scope).openLive(tree),
      begin: (layers) => this.begin(layers, scope),
    });
  }

  /** Puts the first entries into the upper layer of a new sandbox. */
  protected begin(_layers: Layers, _scope: Scope): void {
    // A folder as such shows the original.
  }

  protected programPath(workspace: string, scope: Scope): string {
    return scope.only === undefined ? `${workspace}/${MERGED}` : `${workspace}/${MERGED}/${scope.only}`;
  }

  protected override intendedPlaces(place: WorkspacePlace): IntendedPlace[] {
    return [...super.intendedPlaces(place), { kind: "mount", location: `${place.path}/${MERGED}` }];
  }

  protected *saveCheckpoint({ own, workspace, tree }: OpenSandbox<LayeredTree>, made: NewCheckpoint): Steps {
    yield* saveLayer(workspace, made, own, tree.savedLayer(own));
  }

  override async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    if (this.standsStill(ref)) {
      using workspace = openPlaceOf(ref);
      assertNoneOutside(workspace, scopeFrom(ref), "land");
    }
    return await super.prepare(ref, transaction);
  }

  protected override async assertRestorable(
    ref: SandboxRef,
    workspace: Folder,
    checkpointId: string,
  ): Promise<void> {
    await super.assertRestorable(ref, workspace, checkpointId);
    const scope = scopeFrom(ref);
    const tree = this.tree(workspace, scope);
    if (!tree.isEntered || !this.standsStill(ref) || isRestoring(workspace)) return;
    assertNoneOutside(workspace, scope, "be restored");
    const { assertRestorable } = await import("./restored/mounted-restore.ts");
    const { entries: saved, notes } = openSaved(workspace, checkpointId);
    using _saved = saved;
    using original = openOriginal(scope);
    assertRestorable({ tree, workspace, original, scope: this.savedScope(scope), saved, notes });
  }

  /** The layer is exchanged, or brought back through its mount if commands go on in it. */
  protected override async bringBack(ref: SandboxRef, workspace: Folder, saved: SavedWork): Promise<void> {
    const scope = scopeFrom(ref);
    const tree = this.tree(workspace, scope);
    const mount = new OverlayMount(workspace, scope);
    using mounted = this.standsStill(ref) ? mount.openLive(tree) : undefined;
    if (mounted === undefined) {
      await this.#endUse(mount, tree, scope);
      await super.bringBack(ref, workspace, saved);
      return;
    }
    const { restoreThrough } = await import("./restored/mounted-restore.ts");
    using original = openOriginal(scope);
    using layer = openEntries(saved.checkpoint);
    const of = { tree, workspace, original, scope: this.savedScope(scope) };
    const restore = { ...of, saved: layer, notes: saved.notes };
    await this.work.toEnd("restoring", restoreThrough(mounted, restore));
    // Waits until every change of the commands has another change time than what was restored.
    takeBarrier(workspace);
  }

  /** The paths that a checkpoint has. */
  protected savedScope(scope: Scope): Scope {
    return scope;
  }

  /** After a crash in a restore, the commands may have ended since. What is there then goes as a whole. */
  async #endUse(mount: OverlayMount, tree: LayeredTree, scope: Scope): Promise<void> {
    if (!tree.isEntered) return;
    const holder = await mount.end(tree);
    if (holder !== undefined) throw inUse(scope, holder);
    tree.forgetPrograms();
  }

  protected override async stateOf(
    { own }: OpenSandbox<LayeredTree>,
    _changes: unknown,
    barrier: Time,
  ): Promise<TreeState> {
    const { stateOfLayer } = await import("../../engine/checkpoint/tree-state.ts");
    return stateOfLayer(own, barrier);
  }

  protected *bringTreeBack({ workspace, tree, checkpoint, notes }: BegunRestore<LayeredTree>): Steps {
    using own = tree.openOwn();
    yield* bringLayerBack(workspace, checkpoint, own);
    BaseRecord.fromBytes(notes).save(workspace);
  }

  /** The record knows every file that the upper layer covers, without reading it. */
  protected override async basedPaths({
    workspace,
    tree,
    original,
    own,
  }: OpenSandbox<LayeredTree>): Promise<Iterable<BasedPath>> {
    return tree.isEntered
      ? (await this.work.toEnd("comparing", tree.diff(original, own))).changes
      : BaseRecord.load(workspace)
          .notes(() => true)
          .map(([path, before]) => ({ path, before }));
  }

  protected async freeze(ref: SandboxRef, workspace: Folder): Promise<void> {
    const scope = scopeFrom(ref);
    const tree = this.tree(workspace, scope);
    if (tree.isEntered && this.standsStill(ref)) {
      using original = openOriginal(scope);
      tree.noteHeld(original);
      return;
    }
    const holder = await new OverlayMount(workspace, scope).end(tree);
    if (holder !== undefined) throw inUse(scope, holder);
    // Without an original, nothing can be noted or landed; but the sandbox can be removed.
    if (!tree.isFinished || !tree.isEntered || !isThere(scope.root)) return;
    using original = openOriginal(scope);
    tree.noteWork(original);
  }

  async #whyNotFor(resource: Resource, way: OverlayWay): Promise<string | undefined> {
    const { whyNoLayers } = await import("./probe/placement-probe.ts");
    const scope = scopeOf(resource);
    try {
      return whyNoLayers(choosePlace(this.context.stateDir, "probe", scope), scope, way);
    } catch (thrown) {
      if (thrown instanceof UnsupportedError) return messageOf(thrown);
      throw thrown;
    }
  }
}

/** Programs outside of the plan that use the mount whose path they were told do not stand still. */
function assertNoneOutside(workspace: Folder, { root }: Scope, what: string): void {
  const [holder] = folderHolders(workspace.label(MERGED));
  if (holder === undefined) return;
  throw new BusyError(
    `The sandbox of ${root} can't ${what} while commands run in it, because ${holder.command} (pid ${holder.pid}) uses it from outside.`,
    {
      holder: `${holder.command} (pid ${holder.pid})`,
      hint: "End it, or wait until the commands have ended.",
    },
  );
}

function inUse({ root }: Scope, holder: string): BusyError {
  return new BusyError(`The sandbox of ${root} is in use by ${holder}.`, {
    holder,
    hint: "End it, or leave the folder, and try again.",
  });
}

const WHILE_RUNNING: readonly RunningOperation[] = ["checkpoint", "restore", "apply"];
const RESOURCE_TYPES: readonly string[] = ["fs-directory", "fs-file", "fs-mount", "git-checkout"];

/** The likely way to mount, without trying it. */
function likelyWay(allowed: readonly OverlayWay[]): OverlayWay {
  const isRoot = process.geteuid?.() === 0;
  return allowed.find((way) => isRoot || way !== "kernel") ?? "fuse";
}

const LOSSES_OF: { readonly [way in OverlayWay]: readonly Loss[] } = {
  kernel: [],
  "user-namespace": ["folder-renames", "linked-files"],
  fuse: [
    "folder-renames",
    "linked-files",
    "holes",
    "folder-times",
    "link-attributes",
    "special-files",
    "long-names",
  ],
};

/**
 * fuse-overlayfs moves copied-up entries into place, which without privilege needs permission to write to
 * them.
 */
function lossesOf(way: OverlayWay): readonly Loss[] {
  const isUsersFuse = way === "fuse" && process.geteuid?.() !== 0;
  return isUsersFuse ? [...LOSSES_OF.fuse, "read-only-folders"] : LOSSES_OF[way];
}

const WAY_NOTES: { readonly [way in OverlayWay]: string } = {
  kernel: "works, mounted by the kernel",
  "user-namespace": "works, mounted by the kernel in a user namespace",
  fuse: "works, mounted by fuse-overlayfs",
};
