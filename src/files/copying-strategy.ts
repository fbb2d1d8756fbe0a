import { ulid } from "ulid";
import type { StrategyCapabilities } from "../core/capabilities.ts";
import type { Change, DiffView } from "../core/change.ts";
import {
  hintOf,
  InterruptedError,
  messageOf,
  SandboxCreationError,
  SandboxRollbackError,
  SandboxStateError,
} from "../core/errors.ts";
import type { Resource } from "../core/resource.ts";
import { type SandboxRef, sandboxIdFor } from "../core/sandbox.ts";
import type {
  CommitResult,
  PreparedCommit,
  ProbeResult,
  StrategyContext,
  Transaction,
  TwoPhaseSandboxStrategy,
} from "../core/strategy.ts";
import { failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";
import { CopiedTree, type DataWay, treePath } from "./copied-tree.ts";
import { assertSameBoot, OpenSandbox, openOriginal, placeOf, scopeFrom } from "./copy-reference.ts";
import { diffView } from "./diff-view.ts";
import { LandingRules } from "./landing-policy.ts";
import { Landings } from "./landings.ts";
import { runInTurns, type Steps } from "./pace.ts";
import { removeTree } from "./remove-tree.ts";
import { RestoredTimes } from "./restored-times.ts";
import { type Scope, scopeOf, toEnginePath, toResourcePath } from "./scope.ts";
import { beginRestore, finishRestore, saveCheckpoint } from "./tree-checkpoints.ts";
import { choosePlace, findPlace, makeWorkspace, openWorkspace, removeWorkspace } from "./workspace.ts";
import { readFileBelow, writeFileBelow } from "./writing.ts";
import { writtenChange } from "./written-change.ts";

const TRIM = failpoint("cleanup.remove");

/** What a strategy that works on a copy of a folder or file says of itself. */
export interface CopyingOptions {
  readonly name: string;
  readonly data: DataWay;
  readonly capabilities: StrategyCapabilities;
}

/**
 * A sandbox that is a copy of the original: everything that `filesystem_copy` and `copy_on_write` share, which is all but the way in which the
 * content of a file is copied.
 */
export class CopyingStrategy implements TwoPhaseSandboxStrategy {
  readonly name: string;
  readonly capabilities: StrategyCapabilities;
  protected readonly context: StrategyContext;
  readonly #data: DataWay;

  constructor(context: StrategyContext, { name, data, capabilities }: CopyingOptions) {
    this.context = context;
    this.name = name;
    this.capabilities = capabilities;
    this.#data = data;
  }

  async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const sandboxId = sandboxIdFor(planId, resource.id);
    const scope = scopeOf(resource);
    this.#removeUnfinished(sandboxId, scope);
    const place = choosePlace(this.context.stateDir, sandboxId, scope);
    const metadata = {
      workspace: place.path,
      placement: place.placement,
      root: scope.root,
      path: treePath(place.path, scope),
      ...(scope.only !== undefined && { only: scope.only }),
    };
    const ref: SandboxRef = { sandboxId, planId, resourceId: resource.id, strategyName: this.name, metadata };
    await this.context.recordIntent(ref, [{ kind: "folder", location: place.path }]);
    try {
      using original = openOriginal(scope);
      using workspace = makeWorkspace(this.context.stateDir, sandboxId, place);
      await this.#run("copying", new CopiedTree(workspace, scope).make(original, this.#data));
      return ref;
    } catch (thrown) {
      removeWorkspace(this.context.stateDir, sandboxId, place);
      if (thrown instanceof InterruptedError) throw thrown;
      throw new SandboxCreationError(`No copy of ${resource.location} could be made: ${messageOf(thrown)}`, {
        cause: thrown,
        hint: hintOf(thrown) ?? "Nothing was changed. Mend the cause and try again.",
      });
    }
  }

  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    using sandbox = await this.#open(ref);
    return readFileBelow(sandbox.tree, toEnginePath(sandbox.scope, path));
  }

  async readOriginal(ref: SandboxRef, path: string): Promise<Uint8Array | undefined> {
    using sandbox = await this.#open(ref);
    const enginePath = toEnginePath(sandbox.scope, path);
    const base = sandbox.copy.baseLookup()(enginePath);
    if (base?.kind !== "file") return undefined;
    return readFileBelow(sandbox.original, enginePath);
  }

  async write(ref: SandboxRef, path: string, bytes: Uint8Array): Promise<Change> {
    using sandbox = await this.#open(ref);
    const enginePath = toEnginePath(sandbox.scope, path);
    const { before, after } = writeFileBelow(sandbox.tree, enginePath, bytes, sandbox.workspace);
    return writtenChange(toResourcePath(sandbox.scope, enginePath), before, after);
  }

  async diff(ref: SandboxRef): Promise<DiffView> {
    using sandbox = await this.#open(ref);
    const { changes } = sandbox.copy.diff(sandbox.original, sandbox.tree);
    return diffView(changes, {
      original: sandbox.original,
      sandbox: sandbox.tree,
      policy: this.context.policy,
      originalIsBase: (path, before) => sandbox.copy.isOriginalUnchanged(sandbox.original, path, before),
      mapPath: (path) => toResourcePath(sandbox.scope, path),
    });
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    if (transaction.undoes !== undefined) return this.#prepareUndo(ref, transaction.undoes.prepared);
    using sandbox = await this.#open(ref);
    assertSameBoot(sandbox.copy);
    const changes = sandbox.copy.diff(sandbox.original, sandbox.tree, () => this.#stopIfAsked());
    if (changes.entries.length === 0 && changes.folderTimes.length === 0) return null;
    const baseOf = sandbox.copy.baseLookup();
    const tick = this.#counter("preparing", changes.entries.length);
    return await this.#landings(sandbox.workspace, sandbox.scope).prepare(transaction, {
      original: sandbox.original,
      sandbox: sandbox.tree,
      changes,
      barrier: sandbox.copy.barrier,
      baseOf,
      rules: new LandingRules(this.context.policy, baseOf, changes.changes),
      tick: () => {
        this.#stopIfAsked();
        tick();
      },
    });
  }

  async commitPrepared(ref: SandboxRef, transaction: Transaction, prepared: PreparedCommit): Promise<CommitResult> {
    const { scope, workspace } = this.#place(ref);
    using folder = workspace;
    using original = openOriginal(scope);
    const copy = new CopiedTree(folder, scope);
    if (copy.isFinished) copy.markStale();
    const direction = transaction.direction === "undo" ? "backward" : "forward";
    return await this.#landings(folder, scope).run(
      original,
      prepared,
      direction,
      this.#counter("landing", prepared.changes),
    );
  }

  async rollbackPrepared(ref: SandboxRef, transaction: Transaction): Promise<void> {
    // Preparing an undo only looks, so there is nothing to take back.
    if (transaction.direction === "undo") return;
    const scope = scopeFrom(ref);
    using workspace = openWorkspace(placeOf(ref).path);
    if (workspace === undefined || !this.#landings(workspace, scope).ids().includes(transaction.id)) return;
    using original = openOriginal(scope);
    const copy = new CopiedTree(workspace, scope);
    this.#landings(workspace, scope).rollbackPrepared(transaction, original, () => copy.openTree());
    copy.markFresh();
  }

  async discardUndo(ref: SandboxRef, _transaction: Transaction, prepared: PreparedCommit): Promise<void> {
    const place = placeOf(ref);
    using workspace = openWorkspace(place.path);
    if (workspace === undefined) {
      removeWorkspace(this.context.stateDir, ref.sandboxId, place);
      return;
    }
    this.#landings(workspace, scopeFrom(ref)).discard(prepared);
    this.#removeIfEmpty(ref, workspace);
  }

  async commit(ref: SandboxRef): Promise<CommitResult> {
    const transaction: Transaction = { id: `alone-${ulid()}`, planId: ref.planId, direction: "commit" };
    const prepared = await this.#prepareAlone(ref, transaction);
    if (prepared === null) return { changes: 0, attention: [] };
    try {
      return await this.commitPrepared(ref, transaction, prepared);
    } catch (thrown) {
      await this.rollbackPrepared(ref, transaction);
      throw thrown;
    }
  }

  async #prepareAlone(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    try {
      return await this.prepare(ref, transaction);
    } catch (thrown) {
      await this.rollbackPrepared(ref, transaction);
      throw thrown;
    }
  }

  async rollback(ref: SandboxRef): Promise<void> {
    const { scope, workspace } = this.#place(ref);
    using folder = workspace;
    using original = openOriginal(scope);
    const landings = this.#landings(folder, scope);
    const copy = new CopiedTree(folder, scope);
    try {
      copy.markStale();
      for (const id of landings.ids()) landings.revert(id, original);
      removeTree(TRIM, folder, "checkpoints");
      await this.#run("copying", copy.freshen(original, this.#data));
    } catch (thrown) {
      throw new SandboxRollbackError(`The sandbox of ${scope.root} could not be rolled back: ${messageOf(thrown)}`, {
        cause: thrown,
        hint: hintOf(thrown) ?? "Mend the cause and try again.",
      });
    }
  }

  async checkpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    using sandbox = await this.#open(ref);
    const { changes } = sandbox.copy.diff(sandbox.original, sandbox.tree);
    await this.#run(
      "saving",
      saveCheckpoint(
        sandbox.workspace,
        checkpointId,
        sandbox.tree,
        changes.map(({ path }) => path),
      ),
    );
  }

  async restoreCheckpoint(ref: SandboxRef, checkpointId: string): Promise<void> {
    using sandbox = await this.#open(ref);
    beginRestore(sandbox.workspace, checkpointId);
    await this.#run("restoring", finishRestore(sandbox.workspace, sandbox.copy));
  }

  async cleanup(ref: SandboxRef): Promise<void> {
    const place = placeOf(ref);
    using workspace = openWorkspace(place.path);
    if (workspace === undefined) {
      removeWorkspace(this.context.stateDir, ref.sandboxId, place);
      return;
    }
    for (const name of workspace.names()) if (name !== "landings") removeTree(TRIM, workspace, name);
    this.#removeIfEmpty(ref, workspace);
  }

  async path(ref: SandboxRef): Promise<string> {
    using sandbox = await this.#open(ref);
    return sandbox.copy.path;
  }

  async probe(_resource: Resource): Promise<ProbeResult> {
    return { works: true };
  }

  async #prepareUndo(ref: SandboxRef, undoes: PreparedCommit): Promise<PreparedCommit> {
    const { scope, workspace } = this.#place(ref);
    using folder = workspace;
    using original = openOriginal(scope);
    return this.#landings(folder, scope).prepareUndo(original, undoes);
  }

  #landings(workspace: Folder, scope: Scope): Landings {
    return new Landings(workspace, new RestoredTimes(this.context.stateDir, scope.root));
  }

  /** A landed transaction's undo record keeps the workspace. */
  #removeIfEmpty(ref: SandboxRef, workspace: Folder): void {
    const isSandbox = new CopiedTree(workspace, scopeFrom(ref)).isFinished;
    if (!isSandbox && this.#landings(workspace, scopeFrom(ref)).ids().length === 0)
      removeWorkspace(this.context.stateDir, ref.sandboxId, placeOf(ref));
  }

  #removeUnfinished(sandboxId: string, scope: Scope): void {
    const earlier = findPlace(this.context.stateDir, sandboxId);
    if (earlier === undefined) return;
    using workspace = openWorkspace(earlier.path);
    const isInUse =
      workspace !== undefined &&
      (new CopiedTree(workspace, scope).isFinished || this.#landings(workspace, scope).ids().length > 0);
    if (isInUse) {
      throw new SandboxStateError(`Sandbox ${sandboxId} has been created already.`, {
        from: "CREATED",
        to: "PENDING",
        hint: "Use the sandbox that is there, or clean it up first.",
      });
    }
    removeWorkspace(this.context.stateDir, sandboxId, earlier);
  }

  #place(ref: SandboxRef): { readonly scope: Scope; readonly workspace: Folder } {
    const workspace = openWorkspace(placeOf(ref).path);
    if (workspace !== undefined) return { scope: scopeFrom(ref), workspace };
    throw new SandboxStateError(`The workspace ${placeOf(ref).path} of sandbox ${ref.sandboxId} is gone.`, {
      from: "ACTIVE",
      to: "ACTIVE",
      hint: "Somebody removed it. Cancel the plan and make a new one.",
    });
  }

  /** Opens a sandbox for use; one whose work has landed gets a new copy first. */
  async #open(ref: SandboxRef): Promise<OpenSandbox> {
    const { scope, workspace } = this.#place(ref);
    const original = openOriginal(scope);
    const copy = new CopiedTree(workspace, scope, new RestoredTimes(this.context.stateDir, scope.root).asBefore);
    if (copy.isStale) await this.#run("copying", copy.freshen(original, this.#data));
    else await this.#run("restoring", finishRestore(workspace, copy));
    return new OpenSandbox(scope, workspace, original, copy);
  }

  async #run(task: string, steps: Steps): Promise<void> {
    let done = 0;
    await runInTurns(steps, (entries) => {
      this.#stopIfAsked();
      done += entries;
      this.context.progress({ task, done });
    });
  }

  #counter(task: string, total: number): () => void {
    let done = 0;
    return () => {
      done += 1;
      this.context.progress({ task, done, total });
    };
  }

  #stopIfAsked(): void {
    if (this.context.signal.aborted) throw new InterruptedError();
  }
}
