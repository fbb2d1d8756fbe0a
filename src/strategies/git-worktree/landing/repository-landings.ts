import { SandboxConflictError } from "../../../core/errors/errors.ts";
import { bytesFromPath } from "../../../core/paths/byte-path.ts";
import type { Attention, PreparedCommit, Transaction } from "../../../core/strategy.ts";
import type { Landings } from "../../../engine/landing/landings.ts";
import { preparedLanding } from "../../../engine/manifest/prepared-landing.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { stagedConflicts } from "../checkout/checkout-state.ts";
import { copyIndex } from "../checkout/index-files.ts";
import { assertOnlyHere } from "../checkout/other-worktrees.ts";
import type { UserHooks } from "../checkout/user-hooks.ts";
import { PACKED_REFS, packedWithout } from "../repository/ref-files.ts";
import type { LogLine } from "../repository/ref-log.ts";
import {
  type ConfigEntry,
  type Identity,
  identityFrom,
  readConfig,
} from "../repository/repository-config.ts";
import { dropRefs } from "../repository/repository-refs.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import { indexLines } from "../worktree/work-commit.ts";
import { type GitLock, makeLocks, releaseLocks, removeUnrecorded, takeLocks } from "./git-locks.ts";
import { openIncoming } from "./landing-plan.ts";
import { type GitLanding, LandingFolder } from "./landing-record.ts";
import { assertNothingUnderWay, assertThere, branchMovedOn, headMovedOn } from "./landing-refusals.ts";
import { commitsOf, type RefMove, reversed } from "./ref-moves.ts";
import { contentOf, fillLocks, flushLocks, hasBegun, moveRepository } from "./repository-move.ts";

const UNDO_INDEX = failpoint("git.undo-index");
const PACK = failpoint("git.pack-refs");
const INDEX = "index";

/** What the landings of a sandbox need from outside. */
export interface RepositoryMeans {
  /** The exchange of files. */
  readonly exchange: Landings;
  /** The prefix of this sandbox's refs in the user's repository. */
  readonly refs: string;
  readonly hooks?: UserHooks;
  readonly signal: AbortSignal;
  readonly now: () => Date;
}

/**
 * The landings of one sandbox in the user's repository, once they are prepared: how they run, and how they
 * are taken back. landing-record.ts has the order of writes.
 */
export class RepositoryLandings {
  protected readonly parts: SandboxParts;
  readonly #means: RepositoryMeans;

  constructor(parts: SandboxParts, means: RepositoryMeans) {
    this.parts = parts;
    this.#means = means;
  }

  /** Checks that a landing can be taken back, and locks the repository for it. */
  async prepareUndo(id: string, undoes: PreparedCommit): Promise<PreparedCommit> {
    using landed = LandingFolder.openPrepared(this.parts.workspace, undoes);
    return await this.#prepareUndoOf(id, landed, landed.readPrepared(undoes), undoes.changes);
  }

  async #prepareUndoOf(
    id: string,
    landed: LandingFolder,
    landing: GitLanding,
    changes: number,
  ): Promise<PreparedCommit> {
    const config = await readConfig(this.parts.git, this.parts.checkout);
    using undo = LandingFolder.make(this.parts.workspace, id);
    const back = this.#backwardsOf(landing, identityFrom(config), "undo: take back");
    const { head, moves } = back;
    const locks = await this.lock(undo, moves, config);
    const { checkout } = this.parts;
    if (head !== undefined && contentOf(checkout, "HEAD") !== head.from)
      throw headMovedOn(head.from, contentOf(checkout, "HEAD"));
    for (const move of moves) {
      const now = contentOf(checkout, move.ref);
      if (now !== move.from) throw branchMovedOn(move, now);
    }
    using original = this.parts.openOriginal();
    if (landing.exchange !== undefined) await this.#means.exchange.prepareUndo(original, landing.exchange);
    await this.#indexBefore(undo, landing);
    const packs = this.packRefs(undo, moves);
    const digest = await this.record(undo, { ...back, ...packs, transaction: id, locks, undoes: landed.id });
    return { changes, data: { landing: id, digest } };
  }

  /**
   * Lands what `prepare` prepared, or takes back what `prepareUndo` prepared. Continues wherever an earlier
   * run was cut off.
   */
  async run(prepared: PreparedCommit): Promise<readonly Attention[]> {
    using folder = LandingFolder.openPrepared(this.parts.workspace, prepared);
    if (folder.isDone) return folder.readFinished().attention;
    return await this.#run(folder, folder.readPrepared(prepared));
  }

  async #run(folder: LandingFolder, landing: GitLanding): Promise<readonly Attention[]> {
    using original = this.parts.openOriginal();
    const direction = landing.undoes === undefined ? "forward" : "backward";
    const { exchange } = this.#means;
    const files =
      landing.exchange === undefined
        ? []
        : (await exchange.run(original, landing.exchange, direction)).attention;
    const attention = [...files, ...(await moveRepository(this.parts, landing, folder.folder))];
    if (landing.undoes !== undefined) {
      using landed = LandingFolder.openIfThere(this.parts.workspace, landing.undoes);
      landed?.markUndone();
    }
    folder.finish({ attention });
    return [...attention, ...(await this.#tellHooks(folder, landing, attention))];
  }

  /** Runs the hook at most once: the landing is finished and flushed before the hook begins. */
  async #tellHooks(
    folder: LandingFolder,
    { runsHooks, undoes, moves }: GitLanding,
    attention: readonly Attention[],
  ): Promise<readonly Attention[]> {
    const { hooks } = this.#means;
    const isMove = moves.some(({ from, to }) => from !== to);
    if (runsHooks !== true || hooks === undefined || undoes !== undefined || !isMove) return [];
    await folder.flushFinished();
    const more = await hooks.afterLanding();
    if (more.length > 0) folder.finish({ attention: [...attention, ...more] });
    return more;
  }

  /** What a landing did to the refs, and the exchange that its files landed by, if that is recorded here. */
  landed(prepared: PreparedCommit): { readonly moves: readonly RefMove[]; readonly files?: PreparedCommit } {
    using folder = LandingFolder.openPrepared(this.parts.workspace, prepared);
    const { moves, exchange } = folder.readPrepared(prepared);
    const moved = moves.filter(({ from, to }) => from !== to);
    return { moves: moved, ...(exchange !== undefined && { files: exchange }) };
  }

  /** Drops the refs that only a running landing needs. */
  async dropLandingRefs(): Promise<void> {
    await dropRefs(this.parts.git, this.parts.checkout, this.#means.refs, "landing");
  }

  /**
   * Takes back a prepare, finished or not, and a landing that had begun. Calls `markWhole` when the work is
   * in the sandbox again, before it removes the last trace of the landing: a recovery after a crash finds the
   * landing by that trace, and calls it again.
   */
  async rollbackPrepared(transaction: Transaction, markWhole: () => void): Promise<readonly Attention[]> {
    using folder = LandingFolder.openIfThere(this.parts.workspace, transaction.id);
    if (folder === undefined) return [];
    const landing = folder.read();
    using original = this.parts.openOriginal();
    const attention = await this.#means.exchange.rollbackPrepared(transaction, () => original.duplicate(), {
      open: () => openIncoming(folder.folder),
      isGone: () => false,
      markWhole: () => undefined,
    });
    if (landing !== undefined) await this.#moveBack(landing);
    releaseLocks(folder.readLocks());
    removeUnrecorded(this.parts.checkout, transaction.id);
    await this.dropLandingRefs();
    markWhole();
    folder.remove();
    return attention;
  }

  /** Takes back the preparation of an undo. */
  rollbackUndo(id: string, undoes: PreparedCommit): void {
    using folder = LandingFolder.openIfThere(this.parts.workspace, id);
    if (folder !== undefined) releaseLocks(folder.readLocks());
    removeUnrecorded(this.parts.checkout, id);
    using landed = LandingFolder.openIfThere(this.parts.workspace, preparedLanding(undoes).landing);
    const exchange = landed?.read()?.exchange;
    if (exchange !== undefined) this.#means.exchange.rollbackUndo(exchange);
    folder?.remove();
  }

  /** Moves refs or an index back that had moved already, because the landing is given up. */
  async #moveBack(landing: GitLanding): Promise<void> {
    const id = `${landing.transaction}-back`;
    using begun = LandingFolder.openIfThere(this.parts.workspace, id);
    if (begun === undefined && !hasBegun(this.parts, landing)) return;
    releaseLocks(landing.locks);
    using back = begun ?? LandingFolder.make(this.parts.workspace, id);
    await moveRepository(this.parts, back.read() ?? (await this.#backwards(back, landing)), back.folder);
    back.remove();
  }

  async #backwards(back: LandingFolder, landing: GitLanding): Promise<GitLanding> {
    releaseLocks(back.readLocks());
    const config = await readConfig(this.parts.git, this.parts.checkout);
    const { exchange: _, ...rest } = this.#backwardsOf(landing, identityFrom(config), "undo: give up");
    const locks = await this.lock(back, rest.moves, config);
    await this.#indexBefore(back, landing);
    // Those that had not moved yet, or that another process has moved since, stay.
    const moves = rest.moves.filter(({ ref, from }) => contentOf(this.parts.checkout, ref) === from);
    const packs = this.packRefs(back, moves);
    const record: GitLanding = { ...rest, ...packs, moves, transaction: back.id, locks };
    await this.record(back, record);
    return record;
  }

  #backwardsOf(landing: GitLanding, identity: Identity, text: string): GitLanding {
    const { packs: _, ...rest } = landing;
    return reversed(rest, (move) => {
      const commits = commitsOf(move);
      return this.logLine(identity, commits, `${text} ${commits.from?.slice(0, 12)}`);
    });
  }

  /**
   * Takes back a landing of any stage, so that nothing of it stays in the original. Finishes an undo that was
   * cut off.
   */
  async revert(id: string): Promise<void> {
    using folder = LandingFolder.openIfThere(this.parts.workspace, id);
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
    using folder = LandingFolder.openIfThere(this.parts.workspace, preparedLanding(prepared).landing);
    const landing = folder?.read();
    if (folder !== undefined && landing !== undefined) this.#forget(folder, landing);
    // A crash may have come between the last removal and this one.
    LandingFolder.removeIfNone(this.parts.workspace);
  }

  #forget(folder: LandingFolder, landing: GitLanding): void {
    if (landing.exchange !== undefined && landing.undoes === undefined)
      this.#means.exchange.discard(landing.exchange);
    for (const id of LandingFolder.ids(this.parts.workspace)) {
      using other = LandingFolder.openIfThere(this.parts.workspace, id);
      if (other?.isDone === true && other.read()?.undoes === landing.transaction) other.remove();
    }
    folder.remove();
  }

  /** The last step of a prepare. No later step can fail. */
  protected async record(folder: LandingFolder, landing: GitLanding): Promise<string> {
    fillLocks(landing, folder.folder);
    return await flushLocks(this.parts, landing, (theirs) => folder.write(landing, theirs));
  }

  /**
   * Records the locks, takes them, and refuses where nothing can land now. Refs, HEAD and the index stay the
   * same from here on.
   */
  protected async lock(
    folder: LandingFolder,
    moves: readonly Pick<RefMove, "ref" | "to">[],
    config: readonly ConfigEntry[],
  ): Promise<readonly GitLock[]> {
    const { checkout } = this.parts;
    assertThere(checkout);
    const refs = moves.map(({ ref }) => ref);
    const goes = moves.some(({ to }) => to === undefined);
    const locks = makeLocks(checkout, goes ? [...refs, PACKED_REFS] : refs, folder.id);
    await folder.writeLocks(locks);
    await takeLocks(locks);
    assertNothingUnderWay(checkout);
    for (const ref of refs) assertOnlyHere(checkout, ref, config, (worktree) => this.follows(worktree));
    return locks;
  }

  /** Whether another worktree of the repository, at this path, follows what lands. */
  protected follows(_worktree: string): boolean {
    return false;
  }

  /** Makes the file of packed refs without those that go. */
  protected packRefs(folder: LandingFolder, moves: readonly RefMove[]): Pick<GitLanding, "packs"> {
    const gone = moves.filter(({ to }) => to === undefined).map(({ ref }) => ref);
    using common = Folder.open(this.parts.checkout.commonDir);
    const packed = gone.length === 0 ? undefined : packedWithout(common, new Set(gone));
    if (packed === undefined) return {};
    writeWhole(PACK, folder.folder, PACKED_REFS, bytesFromPath(packed));
    return { packs: true };
  }

  /**
   * Makes the index without the landed changes. Refuses if the user has staged changes of the same paths
   * since.
   */
  async #indexBefore(undo: LandingFolder, landing: GitLanding): Promise<void> {
    const { git } = this.parts;
    using gitDir = this.parts.openGitDir();
    copyIndex(gitDir, INDEX, undo.folder, INDEX);
    const context = this.parts.theirs(undo.folder.label(INDEX));
    if (landing.changes.length === 0) return;
    const conflicts = await stagedConflicts(this.parts, context, landing.changes);
    if (conflicts.length > 0) throw new SandboxConflictError(conflicts);
    await git.change(UNDO_INDEX, context, ["update-index", "--replace", "-z", "--index-info"], {
      input: indexLines(landing.changes, "before"),
    });
  }

  protected logLine(identity: Identity, { from, to }: Pick<RefMove, "from" | "to">, text: string): LogLine {
    const seconds = Math.floor(this.#means.now().getTime() / 1000);
    const none = (from ?? to ?? "").replace(/./g, "0");
    return { from: from ?? none, to: to ?? none, who: `${identity.name} <${identity.email}>`, seconds, text };
  }
}
