import { SandboxConflictError } from "../../../core/errors/errors.ts";
import { assertHasWord } from "../../../core/self-running/self-running.ts";
import type { Attention, PreparedCommit, Transaction } from "../../../core/strategy.ts";
import type { LandingPolicy } from "../../../core/strategy-policies.ts";
import type { Landings } from "../../../engine/landing/landings.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { bothSettled } from "../both-settled.ts";
import { type Head, headOf } from "../checkout/checkout.ts";
import { stagedConflicts } from "../checkout/checkout-state.ts";
import { copyIndex } from "../checkout/index-files.ts";
import { assertOnlyHere } from "../checkout/other-worktrees.ts";
import type { UserHooks } from "../checkout/user-hooks.ts";
import {
  type ConfigEntry,
  type Identity,
  identityFrom,
  logsRefs,
  readConfig,
} from "../repository/repository-config.ts";
import { bringCommit, dropRefs } from "../repository/repository-refs.ts";
import { storeWork } from "../repository/store-work.ts";
import { type BlobChange, landingPath, treeChanges } from "../repository/tree-changes.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import {
  assertProgramsDone,
  type CommitText,
  commitWork,
  indexLines,
  type WorkCommit,
} from "../worktree/work-commit.ts";
import { type GitLock, isMoved, makeLocks, releaseLocks, removeUnrecorded, takeLocks } from "./git-locks.ts";
import { type Followed, openIncoming, prepareToFollow } from "./landing-plan.ts";
import { type GitLanding, LandingFolder } from "./landing-record.ts";
import { assertNothingUnderWay, assertThere, branchMovedOn, branchSwitched } from "./landing-refusals.ts";
import { mergeWork } from "./merged-work.ts";
import { fillLocks, flushLocks, moveRepository } from "./repository-move.ts";

const UNDO_INDEX = failpoint("git.undo-index");
const INDEX = "index";

/** What the landings of a sandbox need from outside. */
export interface LandingMeans {
  /** The exchange of files. */
  readonly exchange: Landings;
  /** The prefix of this sandbox's refs in the user's repository. */
  readonly refs: string;
  readonly policy: LandingPolicy;
  readonly fastForward: boolean;
  readonly hooks: UserHooks;
  readonly signal: AbortSignal;
  readonly now: () => Date;
}

/**
 * The landings of one sandbox in the user's repository. The two-phase methods of the strategy call these.
 * landing-record.ts has the order of writes.
 */
export class GitLandings {
  readonly #parts: SandboxParts;
  readonly #means: LandingMeans;

  constructor(parts: SandboxParts, means: LandingMeans) {
    this.#parts = parts;
    this.#means = means;
  }

  /** Does everything that can fail. Returns null if there is nothing to land. */
  async prepare(transaction: Transaction, record: SandboxRecord): Promise<PreparedCommit | null> {
    const { hooks, signal, fastForward } = this.#means;
    assertProgramsDone(this.#parts);
    const [config, stored] = await bothSettled(
      readConfig(this.#parts.git, this.#parts.checkout),
      storeWork(this.#parts, signal),
    );
    const message = transaction.message ?? `Apply plan ${transaction.planId}`;
    const text: CommitText = { identity: identityFrom(config), message: hooks.message(message) };
    const work = await commitWork(this.#parts, record, stored, text);
    if (work === undefined) return null;
    using landing = LandingFolder.make(this.#parts.workspace, transaction.id);
    const { locks, head } = await this.#lock(landing, record.ref, config);
    const to = await mergeWork(this.#parts, { record, now: head, work, text, fastForward });
    const tracked = await this.#changesOf(record, work, head, to);
    assertHasWord(
      this.#parts.checkout.root,
      [...tracked, ...work.uncommitted].map(landingPath),
      transaction.allow,
    );
    const { exchange, files } = await this.#bringAndFollow(transaction, landing, work, {
      tracked,
      commit: to === head.commit ? undefined : to,
    });
    const digest = await this.#record(landing, {
      version: 1,
      transaction: transaction.id,
      ref: record.ref,
      from: head.commit,
      to,
      changes: tracked,
      files,
      locks,
      log: this.#logLine(text.identity, head.commit, to, `merge plan ${transaction.planId}: ${message}`),
      logs: logsRefs(config),
      ...(hooks.areOn && { runsHooks: true }),
      ...(exchange !== null && { exchange }),
    });
    return preparedCommit(work, transaction.id, digest);
  }

  /** The changes of the branch. They are those of the plan, unless the branch has moved. */
  async #changesOf(
    record: SandboxRecord,
    work: WorkCommit,
    head: Head,
    to: string,
  ): Promise<readonly BlobChange[]> {
    if (head.commit === record.base) return work.changes;
    return await treeChanges(this.#parts.git, this.#parts.onCheckout(), {
      from: head.commit,
      to,
      renames: false,
    });
  }

  /**
   * Brings the commit to the user's repository and prepares the files: at the same time, unless a hook runs
   * between.
   */
  async #bringAndFollow(
    transaction: Transaction,
    landing: LandingFolder,
    { uncommitted }: WorkCommit,
    { tracked, commit }: { readonly tracked: readonly BlobChange[]; readonly commit: string | undefined },
  ): Promise<Followed> {
    const { exchange: landings, policy, refs, signal, hooks } = this.#means;
    const request = { transaction, folder: landing.folder, tracked, uncommitted, landings, policy };
    if (commit !== undefined && hooks.areOn) {
      // The hook needs the objects, and its changes of the checkout count as the user's own.
      await bringCommit(this.#parts, refs, commit, signal);
      await hooks.beforeLanding(commit);
      return await prepareToFollow(this.#parts, request);
    }
    const [followed] = await bothSettled(
      prepareToFollow(this.#parts, request),
      commit === undefined ? Promise.resolve() : bringCommit(this.#parts, refs, commit, signal),
    );
    return followed;
  }

  /** Checks that a landing can be taken back, and locks the repository for it. */
  async prepareUndo(id: string, undoes: PreparedCommit): Promise<PreparedCommit> {
    using landed = LandingFolder.openPrepared(this.#parts.workspace, undoes);
    return await this.#prepareUndoOf(id, landed, landed.readPrepared(undoes), undoes.changes);
  }

  async #prepareUndoOf(
    id: string,
    landed: LandingFolder,
    landing: GitLanding,
    changes: number,
  ): Promise<PreparedCommit> {
    const config = await readConfig(this.#parts.git, this.#parts.checkout);
    using undo = LandingFolder.make(this.#parts.workspace, id);
    const { locks, head } = await this.#lock(undo, landing.ref, config);
    if (head.commit !== landing.to) throw branchMovedOn(landing, head);
    using original = this.#parts.openOriginal();
    if (landing.exchange !== undefined) this.#means.exchange.prepareUndo(original, landing.exchange);
    await this.#indexBefore(undo, landing);
    const identity = identityFrom(config);
    const digest = await this.#record(undo, {
      ...reversed(landing),
      transaction: id,
      locks,
      log: this.#logLine(identity, landing.to, landing.from, `undo: take back ${landing.to.slice(0, 12)}`),
      undoes: landed.id,
    });
    return { changes, data: { landing: id, digest } };
  }

  /**
   * Lands what `prepare` prepared, or takes back what `prepareUndo` prepared. Continues wherever an earlier
   * run was cut off.
   */
  async run(prepared: PreparedCommit): Promise<readonly Attention[]> {
    using folder = LandingFolder.openPrepared(this.#parts.workspace, prepared);
    if (folder.isDone) return folder.readFinished().attention;
    return await this.#run(folder, folder.readPrepared(prepared));
  }

  async #run(folder: LandingFolder, landing: GitLanding): Promise<readonly Attention[]> {
    using original = this.#parts.openOriginal();
    const direction = landing.undoes === undefined ? "forward" : "backward";
    const { exchange } = this.#means;
    const files =
      landing.exchange === undefined
        ? []
        : (await exchange.run(original, landing.exchange, direction)).attention;
    const attention = [...files, ...(await moveRepository(this.#parts, landing, folder.folder))];
    if (landing.undoes !== undefined) {
      using landed = LandingFolder.openIfThere(this.#parts.workspace, landing.undoes);
      landed?.markUndone();
    }
    folder.finish({ attention });
    return [...attention, ...(await this.#tellHooks(folder, landing, attention))];
  }

  /** Runs the hook at most once: the landing is finished and flushed before the hook begins. */
  async #tellHooks(
    folder: LandingFolder,
    { runsHooks, undoes, from, to }: GitLanding,
    attention: readonly Attention[],
  ): Promise<readonly Attention[]> {
    if (runsHooks !== true || undoes !== undefined || from === to) return [];
    await folder.flushFinished();
    const more = await this.#means.hooks.afterLanding();
    if (more.length > 0) folder.finish({ attention: [...attention, ...more] });
    return more;
  }

  /** Drops the refs that only a running landing needs. */
  async dropLandingRefs(): Promise<void> {
    await dropRefs(this.#parts.git, this.#parts.checkout, this.#means.refs, "landing");
  }

  /**
   * Takes back a prepare, finished or not, and a landing that had begun. Calls `markWhole` when the work is
   * in the sandbox again, before it removes the last trace of the landing: a recovery after a crash finds the
   * landing by that trace, and calls it again.
   */
  async rollbackPrepared(transaction: Transaction, markWhole: () => void): Promise<readonly Attention[]> {
    using folder = LandingFolder.openIfThere(this.#parts.workspace, transaction.id);
    if (folder === undefined) return [];
    const landing = folder.read();
    using original = this.#parts.openOriginal();
    const attention = this.#means.exchange.rollbackPrepared(transaction, () => original.duplicate(), {
      open: () => openIncoming(folder.folder),
      isGone: () => false,
      markWhole: () => undefined,
    });
    if (landing !== undefined) await this.#moveBack(landing);
    releaseLocks(folder.readLocks());
    removeUnrecorded(this.#parts.checkout, transaction.id);
    await this.dropLandingRefs();
    markWhole();
    folder.remove();
    return attention;
  }

  /** Takes back the preparation of an undo. */
  rollbackUndo(id: string, undoes: PreparedCommit): void {
    using folder = LandingFolder.openIfThere(this.#parts.workspace, id);
    if (folder !== undefined) releaseLocks(folder.readLocks());
    removeUnrecorded(this.#parts.checkout, id);
    using landed = LandingFolder.openIfThere(this.#parts.workspace, String(undoes.data["landing"]));
    const exchange = landed?.read()?.exchange;
    if (exchange !== undefined) this.#means.exchange.rollbackUndo(exchange);
    folder?.remove();
  }

  /** Moves a branch or an index back that had moved already, because the landing is given up. */
  async #moveBack(landing: GitLanding): Promise<void> {
    const id = `${landing.transaction}-back`;
    using begun = LandingFolder.openIfThere(this.#parts.workspace, id);
    if (begun === undefined && !landing.locks.some(isMoved)) return;
    releaseLocks(landing.locks);
    using back = begun ?? LandingFolder.make(this.#parts.workspace, id);
    await moveRepository(this.#parts, back.read() ?? (await this.#backwards(back, landing)), back.folder);
    back.remove();
  }

  async #backwards(back: LandingFolder, landing: GitLanding): Promise<GitLanding> {
    releaseLocks(back.readLocks());
    const config = await readConfig(this.#parts.git, this.#parts.checkout);
    const { locks, head } = await this.#lock(back, landing.ref, config);
    await this.#indexBefore(back, landing);
    const { exchange: _, ...rest } = reversed(landing);
    const move = head.commit === landing.to ? {} : { from: head.commit, to: head.commit };
    const record: GitLanding = { ...rest, ...move, transaction: back.id, locks };
    await this.#record(back, record);
    return record;
  }

  /**
   * Takes back a landing of any stage, so that nothing of it stays in the original. Finishes an undo that was
   * cut off.
   */
  async revert(id: string): Promise<void> {
    using folder = LandingFolder.openIfThere(this.#parts.workspace, id);
    if (folder === undefined) return;
    const landing = folder.read();
    if (landing?.undoes !== undefined) {
      if (!folder.isDone) await this.#run(folder, landing);
      folder.remove();
      return;
    }
    if (!folder.isDone || landing === undefined) {
      await this.rollbackPrepared({ id, planId: "", direction: "commit" }, () => undefined);
      return;
    }
    if (!folder.isUndone) await this.run(await this.#prepareUndoOf(`${id}-revert`, folder, landing, 0));
    this.#forget(folder, landing);
  }

  /** Drops the undo record of a landing. */
  discard(prepared: PreparedCommit): void {
    using folder = LandingFolder.openIfThere(this.#parts.workspace, String(prepared.data["landing"]));
    const landing = folder?.read();
    if (folder !== undefined && landing !== undefined) this.#forget(folder, landing);
    // A crash may have come between the last removal and this one.
    LandingFolder.removeIfNone(this.#parts.workspace);
  }

  #forget(folder: LandingFolder, landing: GitLanding): void {
    if (landing.exchange !== undefined && landing.undoes === undefined)
      this.#means.exchange.discard(landing.exchange);
    for (const id of LandingFolder.ids(this.#parts.workspace)) {
      using other = LandingFolder.openIfThere(this.#parts.workspace, id);
      if (other?.isDone === true && other.read()?.undoes === landing.transaction) other.remove();
    }
    folder.remove();
  }

  /** The last step of a prepare. No later step can fail. */
  async #record(folder: LandingFolder, landing: GitLanding): Promise<string> {
    fillLocks(landing, folder.folder);
    return await flushLocks(this.#parts, landing, (theirs) => folder.write(landing, theirs));
  }

  /**
   * Records the locks, takes them, and reads the commit that is checked out, which stays the same from here
   * on. Refuses where nothing can land now.
   */
  async #lock(
    folder: LandingFolder,
    ref: string,
    config: readonly ConfigEntry[],
  ): Promise<{ readonly locks: readonly GitLock[]; readonly head: Head }> {
    const { checkout, git } = this.#parts;
    assertThere(checkout);
    const locks = makeLocks(checkout, ref, folder.id);
    await folder.writeLocks(locks);
    await takeLocks(locks);
    assertNothingUnderWay(checkout);
    const head = await headOf(git, checkout);
    if (head.ref !== ref) throw branchSwitched(ref, head);
    assertOnlyHere(checkout, ref, config);
    return { locks, head };
  }

  /**
   * Makes the index without the landed changes. Refuses if the user has staged changes of the same paths
   * since.
   */
  async #indexBefore(undo: LandingFolder, landing: GitLanding): Promise<void> {
    const { git } = this.#parts;
    using gitDir = this.#parts.openGitDir();
    copyIndex(gitDir, INDEX, undo.folder, INDEX);
    const context = this.#parts.theirs(undo.folder.label(INDEX));
    if (landing.changes.length === 0) return;
    const conflicts = await stagedConflicts(this.#parts, context, landing.changes);
    if (conflicts.length > 0) throw new SandboxConflictError(conflicts);
    await git.change(UNDO_INDEX, context, ["update-index", "--replace", "-z", "--index-info"], {
      input: indexLines(landing.changes, "before"),
    });
  }

  #logLine(identity: Identity, from: string, to: string, text: string): GitLanding["log"] {
    const seconds = Math.floor(this.#means.now().getTime() / 1000);
    return { from, to, who: `${identity.name} <${identity.email}>`, seconds, text };
  }
}

/** The landing in the other direction. */
function reversed(landing: GitLanding): GitLanding {
  const changes = landing.changes.map(({ path, before, after }) => ({
    path,
    ...(after !== undefined && { before: after }),
    ...(before !== undefined && { after: before }),
  }));
  return { ...landing, from: landing.to, to: landing.from, changes };
}

function preparedCommit({ changes, warnings }: WorkCommit, landing: string, digest: string): PreparedCommit {
  return { changes: changes.length, data: { landing, digest }, ...(warnings.length > 0 && { warnings }) };
}
