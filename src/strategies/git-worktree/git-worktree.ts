import type { Change, DiffView } from "../../core/change.ts";
import type { LastCheckpoint, SavedCheckpoint } from "../../core/checkpoint.ts";
import { messageOf, UnsupportedError } from "../../core/errors/errors.ts";
import { isAtOrBelow } from "../../core/paths/byte-path.ts";
import type { ProgramView } from "../../core/program-view.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type {
  Attention,
  CommitResult,
  LandedSide,
  PreparedCommit,
  StrategyContext,
  Transaction,
  TwoPhaseSandboxStrategy,
} from "../../core/strategy.ts";
import type { ProbeResult } from "../../core/strategy-abilities.ts";
import { builtInStrength } from "../../core/strategy-names.ts";
import { OwnTouches } from "../../engine/base/own-touches.ts";
import { dropCheckpoints } from "../../engine/checkpoint/tree-checkpoints.ts";
import { Landings } from "../../engine/landing/landings.ts";
import { LandedWork } from "../../engine/sandbox/landed-work.ts";
import {
  assertSameBoot,
  notRolledBack,
  openPlaceOf,
  placeOf,
} from "../../engine/sandbox/sandbox-reference.ts";
import { FolderEntries } from "../../engine/sandbox/shown-entries.ts";
import { type FileContent, readFileBelow, writeFileBelow } from "../../engine/sandbox/writing.ts";
import { writtenChange } from "../../engine/show/written-change.ts";
import { choosePlace, openWorkspace } from "../../engine/workspace/workspace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { Git } from "../../system/process/git.ts";
import { currentBootId } from "../../system/process/process-identity.ts";
import { BrowsableStrategy } from "../folder/browsable-strategy.ts";
import type { BrowsedSandbox } from "../folder/browsing.ts";
import type { NewReference, NewSandbox, SavedWork, WorkspaceContent } from "../folder/workspace-strategy.ts";
import { assertPlainPath, type FoundCheckout, findCheckout, gitVersion } from "./checkout/checkout.ts";
import { UserHooks } from "./checkout/user-hooks.ts";
import { bringWorktreeBack, saveWorktree } from "./checkpoint/checkpoints.ts";
import { GitLandings } from "./landing/git-landings.ts";
import { LandingFolder } from "./landing/landing-record.ts";
import { shownMove } from "./landing/ref-moves.ts";
import { DOT_GIT, GIT_LANDINGS, WORKTREE } from "./layout.ts";
import { workBranch } from "./repository/repositories.ts";
import { dropRefs, refsOf } from "./repository/repository-refs.ts";
import { checkoutOf, recordedStart, refPrefixOf, requestedStart, workPath } from "./sandbox-facts.ts";
import { SandboxParts } from "./sandbox-parts.ts";
import { isFinished, isStale, markFresh, markStale, readRecord } from "./sandbox-record.ts";
import { baseContent } from "./worktree/base-content.ts";
import { makeWorktree } from "./worktree/make-worktree.ts";
import { workDiff } from "./worktree/work-diff.ts";

/** These folders stay after a landing, until its undo record is discarded. */
const REMOVAL = { point: failpoint("git.cleanup"), keeps: ["landings", GIT_LANDINGS] };

/**
 * Isolates a git checkout. Programs work in a worktree and a repository of their own, on a branch of their
 * own. The work lands as a merge into the branch that was checked out, and the checkout follows: its files by
 * the exchange that all folders land with, its index and branch under git's own locks. Uncommitted work of
 * the user is never touched. layout.ts lists the files of a sandbox.
 */
export class GitWorktreeStrategy extends BrowsableStrategy<SandboxParts> implements TwoPhaseSandboxStrategy {
  readonly name = "git_worktree";
  readonly capabilities = {
    commit: "two-phase",
    undo: true,
    checkpoint: true,
    whileRunning: ["checkpoint"],
    isolation: "branch",
    strength: builtInStrength("git_worktree"),
    resourceTypes: ["git-checkout"],
    loses: [
      "folders",
      "times",
      "owners",
      "modes",
      "attributes",
      "other-kinds",
      "linked-files",
      "holes",
      "ignored-files",
    ],
  } as const;
  protected override readonly removal = REMOVAL;
  readonly #git: Git;
  readonly #landed = new LandedWork();

  constructor(context: StrategyContext) {
    super(context);
    this.#git = new Git(context.environment ?? {}, context.git?.limitMilliseconds);
  }

  async probe(resource: Resource): Promise<ProbeResult> {
    try {
      requestedStart(resource);
      const version = await gitVersion(this.#git, this.context.stateDir);
      if (resource.properties["example"] !== true) await this.#find(resource);
      return { works: true, note: `works, with git ${version}` };
    } catch (thrown) {
      if (!(thrown instanceof UnsupportedError)) throw thrown;
      return { works: false, reason: messageOf(thrown).replace(/\.$/, "") };
    }
  }

  protected async design(made: NewReference, resource: Resource): Promise<NewSandbox> {
    const start = requestedStart(resource);
    const found = await this.#find(resource);
    const { checkout } = found;
    const place = choosePlace(this.context.stateDir, made.sandboxId, { root: checkout.root });
    const refs = refsOf(made.planId, resource.id);
    const metadata = {
      workspace: place.path,
      placement: place.placement,
      path: `${place.path}/${WORKTREE}`,
      ...checkout,
      refs,
      start,
    };
    const ref: SandboxRef = { ...made, metadata };
    return {
      ref,
      places: [
        { kind: "folder", location: place.path },
        { kind: "ref", location: `${checkout.commonDir}:${refs}` },
      ],
      make: (workspace) => this.#make(ref, this.sandboxIn(ref, workspace), found),
    };
  }

  async read(ref: SandboxRef, path: string): Promise<Uint8Array> {
    using parts = await this.open(ref);
    using worktree = parts.openWorktree();
    return readFileBelow(worktree, workPath(path));
  }

  async readOriginal(ref: SandboxRef, path: string): Promise<Uint8Array | undefined> {
    using parts = await this.open(ref);
    return await baseContent(parts, readRecord(parts.workspace).base, workPath(path));
  }

  async write(ref: SandboxRef, path: string, bytes: FileContent): Promise<Change> {
    using parts = await this.open(ref);
    using worktree = parts.openWorktree();
    const at = workPath(path);
    const { before, after } = writeFileBelow(worktree, at, bytes, parts.workspace);
    return writtenChange(at, before, after);
  }

  protected async browse<T>(
    ref: SandboxRef,
    _purpose: "look" | "change",
    action: (sandbox: BrowsedSandbox) => T,
  ): Promise<T> {
    using parts = await this.open(ref);
    using worktree = parts.openWorktree();
    const isHidden = (path: string) => path === DOT_GIT;
    return action({ entries: new FolderEntries(worktree), inside: workPath, isHidden });
  }

  async diff(ref: SandboxRef): Promise<DiffView> {
    using parts = await this.open(ref);
    return await workDiff(parts, readRecord(parts.workspace));
  }

  async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    try {
      return await this.#prepare(ref, transaction);
    } catch (thrown) {
      // The user's repository must not stay locked.
      await this.rollbackPrepared(ref, transaction);
      throw thrown;
    }
  }

  async #prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    if (transaction.undoes !== undefined) {
      using parts = this.#parts(ref);
      return await this.#landings(ref, parts).prepareUndo(transaction.id, transaction.undoes.prepared);
    }
    using parts = await this.open(ref);
    const record = readRecord(parts.workspace);
    if (transaction.afterRestart !== true)
      assertSameBoot({ isFromEarlierBoot: record.bootId !== currentBootId() });
    return await this.#landings(ref, parts).prepare(transaction, record);
  }

  async commitPrepared(
    ref: SandboxRef,
    _transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<CommitResult> {
    using parts = this.#parts(ref);
    markStale(parts.workspace);
    const attention = await this.#landings(ref, parts).run(prepared);
    return { changes: prepared.changes, attention };
  }

  async rollbackPrepared(ref: SandboxRef, transaction: Transaction): Promise<readonly Attention[]> {
    const workspace = openWorkspace(placeOf(ref).path);
    if (workspace === undefined) return [];
    using parts = this.sandboxIn(ref, workspace);
    const landings = this.#landings(ref, parts);
    if (transaction.undoes !== undefined) {
      landings.rollbackUndo(transaction.id, transaction.undoes.prepared);
      return [];
    }
    return await landings.rollbackPrepared(transaction, () => markFresh(workspace));
  }

  async landed(
    ref: SandboxRef,
    _transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<readonly Change[]> {
    using parts = this.#parts(ref);
    const { moves, files } = this.#landings(ref, parts).landed(prepared);
    return [
      ...moves.map((move) => shownMove(move, `${DOT_GIT}/${move.ref}`)),
      ...(files === undefined ? [] : this.#landed.changes(this.#exchange(parts), files, (path) => path)),
    ];
  }

  async readLanded(
    ref: SandboxRef,
    path: string,
    { prepared, side }: LandedSide,
  ): Promise<Uint8Array | undefined> {
    using parts = this.#parts(ref);
    using original = parts.openOriginal();
    const { files } = this.#landings(ref, parts).landed(prepared);
    return files && this.#landed.read(this.#exchange(parts), files, original, { path, side });
  }

  protected async forgetLanding(ref: SandboxRef, workspace: Folder, prepared: PreparedCommit): Promise<void> {
    this.#landings(ref, this.sandboxIn(ref, workspace)).discard(prepared);
  }

  async rollback(ref: SandboxRef): Promise<void> {
    let isRestored = false;
    try {
      using parts = this.#parts(ref);
      markStale(parts.workspace);
      const landings = this.#landings(ref, parts);
      for (const id of LandingFolder.ids(parts.workspace)) await landings.revert(id);
      isRestored = true;
      await landings.dropLandingRefs();
      dropCheckpoints(parts.workspace);
      if (isStale(parts.workspace)) await this.remake(ref, parts.workspace);
    } catch (thrown) {
      throw notRolledBack(checkoutOf(ref).root, isRestored, thrown);
    }
  }

  async checkpoint(ref: SandboxRef, checkpointId: string, last?: LastCheckpoint): Promise<SavedCheckpoint> {
    using parts = await this.open(ref);
    await this.flushHeld(ref, parts.workspace);
    return await saveWorktree(parts, checkpointId, last, (steps) => this.work.run("saving", steps));
  }

  protected async assertRestorable(ref: SandboxRef, workspace: Folder): Promise<void> {
    if (isStale(workspace)) await this.remake(ref, workspace);
  }

  protected async bringBack(ref: SandboxRef, workspace: Folder, saved: SavedWork): Promise<void> {
    await bringWorktreeBack(this.sandboxIn(ref, workspace), saved, (steps) =>
      this.work.run("restoring", steps),
    );
  }

  protected async release(ref: SandboxRef): Promise<void> {
    await dropRefs(this.#git, checkoutOf(ref), refPrefixOf(ref), "all");
  }

  async path(ref: SandboxRef): Promise<string> {
    using parts = await this.open(ref);
    return parts.worktreePath;
  }

  /** Programs see the worktree at its own path, because their repository records that path. */
  async enter(ref: SandboxRef): Promise<ProgramView> {
    using parts = await this.open(ref);
    const { root, commonDir } = parts.checkout;
    const refersTo = isAtOrBelow(commonDir, root) ? [root] : [root, commonDir];
    return { kind: "place", path: parts.worktreePath, atOwnPath: true, refersTo };
  }

  async #find(resource: Resource): Promise<FoundCheckout> {
    assertPlainPath(this.context.stateDir);
    return await findCheckout(this.#git, resource.location);
  }

  #landings(ref: SandboxRef, parts: SandboxParts): GitLandings {
    const { policy, git, signal, now } = this.context;
    return new GitLandings(parts, {
      exchange: this.#exchange(parts),
      refs: refPrefixOf(ref),
      policy,
      fastForward: git?.fastForward ?? false,
      hooks: new UserHooks(parts, git?.runHooks ?? false, signal),
      signal,
      now,
    });
  }

  #exchange({ workspace, checkout }: SandboxParts): Landings {
    return new Landings(
      workspace,
      new OwnTouches(this.context.stateDir, checkout.root, workspace),
      this.work,
    );
  }

  #parts(ref: SandboxRef): SandboxParts {
    return this.sandboxIn(ref, openPlaceOf(ref));
  }

  protected sandboxIn(ref: SandboxRef, workspace: Folder): SandboxParts {
    return new SandboxParts(this.#git, checkoutOf(ref), workspace);
  }

  protected contentOf(_ref: SandboxRef, workspace: Folder): WorkspaceContent {
    return { isFinished: isFinished(workspace), isStale: isStale(workspace) };
  }

  protected hasLandings(_ref: SandboxRef, workspace: Folder): boolean {
    return REMOVAL.keeps.some((name) => {
      using landings = workspace.openBelowIfThere(name);
      return landings !== undefined && landings.names().length > 0;
    });
  }

  protected async remake(ref: SandboxRef, workspace: Folder): Promise<void> {
    await this.#make(ref, this.sandboxIn(ref, workspace));
    markFresh(workspace);
  }

  async #make(ref: SandboxRef, parts: SandboxParts, found?: FoundCheckout): Promise<void> {
    const options = {
      start: recordedStart(ref),
      refs: refPrefixOf(ref),
      branch: workBranch(ref.planId),
      signal: this.context.signal,
      onProgress: (done: number, total: number) =>
        this.context.progress({ task: "checking out", done, total }),
    };
    await makeWorktree(parts, options, found);
  }
}
