import { assertHasWord } from "../../../core/self-running/self-running.ts";
import type { PreparedCommit, Transaction } from "../../../core/strategy.ts";
import type { LandingPolicy } from "../../../core/strategy-policies.ts";
import { bothSettled } from "../both-settled.ts";
import { type Head, headOf } from "../checkout/checkout.ts";
import type { UserHooks } from "../checkout/user-hooks.ts";
import { subjectOf } from "../repository/made-commits.ts";
import { logText } from "../repository/ref-log.ts";
import { type Identity, identityFrom, logsRefs, readConfig } from "../repository/repository-config.ts";
import { bringObjects } from "../repository/repository-refs.ts";
import { storeWork } from "../repository/store-work.ts";
import { type BlobChange, landingPath, treeChanges } from "../repository/tree-changes.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import type { SandboxRecord } from "../sandbox-record.ts";
import { assertProgramsDone, type CommitText, commitWork, type WorkCommit } from "../worktree/work-commit.ts";
import { type Followed, prepareToFollow } from "./landing-plan.ts";
import { LandingFolder } from "./landing-record.ts";
import { branchSwitched } from "./landing-refusals.ts";
import { mergeWork } from "./merged-work.ts";
import type { RefMove, RepositoryMove } from "./ref-moves.ts";
import { RepositoryLandings, type RepositoryMeans } from "./repository-landings.ts";

/** What the landings of a worktree need from outside. */
export interface LandingMeans extends RepositoryMeans {
  readonly policy: LandingPolicy;
  readonly fastForward: boolean;
  readonly hooks: UserHooks;
}

/** The landings of a worktree in the user's repository. */
export class GitLandings extends RepositoryLandings {
  readonly #means: LandingMeans;

  constructor(parts: SandboxParts, means: LandingMeans) {
    super(parts, means);
    this.#means = means;
  }

  /** Does everything that can fail. Returns null if there is nothing to land. */
  async prepare(transaction: Transaction, record: SandboxRecord): Promise<PreparedCommit | null> {
    const { hooks, signal, fastForward } = this.#means;
    assertProgramsDone(this.parts);
    const [config, stored] = await bothSettled(
      readConfig(this.parts.git, this.parts.checkout),
      storeWork(this.parts, signal),
    );
    const { message, squash } = transaction;
    const text: CommitText = {
      identity: identityFrom(config),
      message: (described) => hooks.message(message ?? described),
    };
    const work = await commitWork(this.parts, record, stored, text);
    if (work === undefined) return null;
    using landing = LandingFolder.make(this.parts.workspace, transaction.id);
    const locks = await this.lock(landing, [{ ref: record.ref, to: record.head }], config);
    const head = await headOf(this.parts.git, this.parts.checkout);
    if (head.ref !== record.ref) throw branchSwitched(record.ref, head);
    const to = await mergeWork(this.parts, { record, now: head, work, text, fastForward, squash });
    const tracked = await this.#changesOf(record, work, head, to);
    assertHasWord(this.parts.checkout.root, [...tracked, ...work.uncommitted].map(landingPath), transaction);
    const { exchange, files } = await this.#bringAndFollow(transaction, landing, work, {
      tracked,
      commit: to === head.commit ? undefined : to,
    });
    const log = `merge plan ${transaction.planId}: ${message ?? (await subjectOf(this.parts, to))}`;
    const digest = await this.record(landing, {
      version: 2,
      transaction: transaction.id,
      ...this.#moves(head, to, { identity: text.identity, text: log, isWanted: logsRefs(config) }),
      changes: tracked,
      files,
      locks,
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
    return await treeChanges(this.parts.git, this.parts.onCheckout(), {
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
      await bringObjects(this.parts, refs, [commit], signal);
      await hooks.beforeLanding(commit);
      return await prepareToFollow(this.parts, request);
    }
    const [followed] = await bothSettled(
      prepareToFollow(this.parts, request),
      commit === undefined ? Promise.resolve() : bringObjects(this.parts, refs, [commit], signal),
    );
    return followed;
  }

  /** The branch moves, if there is something to commit, and HEAD's log says so too. */
  #moves(
    { ref, commit: from }: Head,
    to: string,
    {
      identity,
      text,
      isWanted,
    }: { readonly identity: Identity; readonly text: string; readonly isWanted: boolean },
  ): Pick<RepositoryMove, "moves" | "head"> {
    const lines = logText(this.logLine(identity, { from, to }, text));
    const log = from === to ? {} : { log: { lines, isWanted } };
    const branch: RefMove = { ref, from, to, ...log };
    if (ref === "HEAD") return { moves: [branch] };
    const content = `ref: ${ref}`;
    const head: RefMove = { ref: "HEAD", from: content, to: content, commits: { from, to }, ...log };
    return { moves: [branch, head], head: { from: content, to: content } };
  }
}

function preparedCommit({ changes, warnings }: WorkCommit, landing: string, digest: string): PreparedCommit {
  return { changes: changes.length, data: { landing, digest }, ...(warnings.length > 0 && { warnings }) };
}
