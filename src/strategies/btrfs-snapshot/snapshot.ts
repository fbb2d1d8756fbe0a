import { messageOf, SandboxCreationError, UnsupportedError } from "../../core/errors/errors.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type { IntendedPlace, PreparedCommit, StrategyContext, Transaction } from "../../core/strategy.ts";
import type { ProbeResult, StrategyWay } from "../../core/strategy-abilities.ts";
import { builtInStrength } from "../../core/strategy-names.ts";
import type { BaseFacts } from "../../engine/base/base-facts.ts";
import type { OwnTouches } from "../../engine/base/own-touches.ts";
import { type NewCheckpoint, saveCheckpointBy } from "../../engine/checkpoint/tree-checkpoints.ts";
import type { BasedPath } from "../../engine/merge/base-contents.ts";
import { type OpenSandbox, placeOf, scopeFrom } from "../../engine/sandbox/sandbox-reference.ts";
import type { BegunRestore } from "../../engine/sandbox/sandbox-tree.ts";
import type { Steps } from "../../engine/work/pace.ts";
import { type Scope, scopeOf } from "../../engine/workspace/scope.ts";
import { choosePlace, openWorkspace, type WorkspacePlace } from "../../engine/workspace/workspace.ts";
import { createSnapshot } from "../../system/btrfs/btrfs.ts";
import { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { MountTable } from "../../system/mount/mount-table.ts";
import { FolderStrategy } from "../folder/folder-strategy.ts";
import { BaseOverrides } from "./base-overrides.ts";
import { whyNoSnapshot } from "./snapshot-probe.ts";
import { SnapshotTree, TREE } from "./snapshot-tree.ts";

const CHECKPOINT = failpoint("snapshot.checkpoint");
const SAVED = "tree";

/**
 * A snapshot of a btrfs subvolume: made in the time of one commit of the file system, for an original of any
 * size, and frozen at that instant. Entries land as copies that share blocks, because no rename crosses
 * subvolumes.
 *
 * This is `snapshot` for folders. Other types of resources have classes of their own, chosen by the type.
 */
export class SnapshotStrategy extends FolderStrategy<SnapshotTree> {
  constructor(context: StrategyContext) {
    super(context, "snapshot", {
      commit: "two-phase",
      undo: true,
      partial: true,
      whileRunning: ["checkpoint", "apply"],
      checkpoint: true,
      isolation: "copy",
      strength: builtInStrength("snapshot"),
      resourceTypes: ["fs-directory", "fs-mount", "git-checkout"],
      leavesOut: true,
    });
  }

  override async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const probed = await this.probe(resource);
    if (!probed.works)
      throw new SandboxCreationError(`snapshot does not work here: ${probed.reason}.`, {
        hint: "Use overlay or copy_on_write.",
      });
    return await super.create(planId, resource);
  }

  override async probe(resource: Resource): Promise<ProbeResult> {
    const scope = scopeOf(resource);
    using folder = Folder.open(scope.root);
    const reason = whyNoSnapshot(folder) ?? this.#whyNoPlace(scope);
    return reason === undefined
      ? { works: true, note: "works, by a snapshot of btrfs" }
      : { works: false, reason };
  }

  async ways(): Promise<readonly StrategyWay[]> {
    const mounted = MountTable.read()
      .visible()
      .filter(({ type }) => type === "btrfs");
    const detail =
      mounted.length === 0
        ? "no btrfs is mounted here"
        : `for whole subvolumes on ${mounted.map(({ point }) => point).join(", ")}`;
    return [{ name: "btrfs", works: mounted.length > 0, detail }];
  }

  async path(ref: SandboxRef): Promise<string> {
    using sandbox = await this.open(ref);
    sandbox.tree.makeTree();
    return sandbox.tree.path;
  }

  /**
   * Reads the base snapshot, which still has the original's content. Landed content is only in the original.
   */
  protected override baseContent(
    sandbox: OpenSandbox<SnapshotTree>,
    path: string,
    base: BaseFacts,
  ): Buffer | undefined {
    if (sandbox.tree.hasLanded(path)) return super.baseContent(sandbox, path, base);
    using snapshot = sandbox.tree.openBase();
    return sandbox.tree.read(sandbox.original, snapshot, path);
  }

  /** The base snapshot keeps everything but landed and merged content. */
  protected override seen(sandbox: OpenSandbox<SnapshotTree>, paths: Iterable<BasedPath>): void {
    if (sandbox.tree.hasMoved) super.seen(sandbox, paths);
  }

  override async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    if (transaction.direction === "commit") this.#assertOneSubvolume(ref);
    return await super.prepare(ref, transaction);
  }

  protected treeIn(workspace: Folder, _scope: Scope, touches: OwnTouches): SnapshotTree {
    return new SnapshotTree(workspace, touches);
  }

  protected programPath(workspace: string): string {
    return `${workspace}/${TREE}`;
  }

  protected override intendedPlaces(place: WorkspacePlace): IntendedPlace[] {
    return [...super.intendedPlaces(place), { kind: "subvolume", location: this.programPath(place.path) }];
  }

  protected *saveCheckpoint({ workspace, tree }: OpenSandbox<SnapshotTree>, { id }: NewCheckpoint): Steps {
    tree.makeTree();
    tree.assertOneSubvolume();
    const save = function* (checkpoint: Folder): Steps {
      using own = tree.openOwn();
      createSnapshot(CHECKPOINT, own, checkpoint, SAVED, { readOnly: true });
      yield 1;
    };
    yield* saveCheckpointBy(workspace, id, save, () => BaseOverrides.in(workspace).toBytes());
  }

  protected *bringTreeBack({ workspace, tree, checkpoint, notes }: BegunRestore<SnapshotTree>): Steps {
    using saved = checkpoint.openChild(SAVED);
    tree.replaceBy(saved);
    const overrides = BaseOverrides.fromBytes(notes);
    if (!overrides.isEmpty || !BaseOverrides.in(workspace).isEmpty) overrides.save(workspace);
    yield 1;
  }

  /** Programs may stay inside: what lands is a copy. */
  protected async freeze(ref: SandboxRef, workspace: Folder): Promise<void> {
    this.tree(workspace, scopeFrom(ref)).removeTemporary();
  }

  #assertOneSubvolume(ref: SandboxRef): void {
    using workspace = openWorkspace(placeOf(ref).path);
    if (workspace === undefined) return;
    const tree = this.tree(workspace, scopeFrom(ref));
    if (tree.isFinished && !tree.isStale) tree.assertOneSubvolume();
  }

  #whyNoPlace(scope: Scope): string | undefined {
    try {
      choosePlace(this.context.stateDir, "probe", scope);
      return undefined;
    } catch (thrown) {
      if (thrown instanceof UnsupportedError) return messageOf(thrown);
      throw thrown;
    }
  }
}
