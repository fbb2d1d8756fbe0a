import { type Change, DiffCount, type DiffView, type TakeChange } from "../../core/change.ts";
import { messageOf, UnsupportedError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { Resource } from "../../core/resource/resource.ts";
import type { SandboxRef } from "../../core/sandbox.ts";
import type {
  Attention,
  CommitResult,
  LandedSide,
  PreparedCommit,
  StrategyContext,
  Transaction,
} from "../../core/strategy.ts";
import type { ProbeResult } from "../../core/strategy-abilities.ts";
import { builtInStrength } from "../../core/strategy-names.ts";
import {
  notRolledBack,
  openPlaceIfThere,
  openPlaceOf,
  scopeFrom,
} from "../../engine/sandbox/sandbox-reference.ts";
import { type Scope, withoutFrom } from "../../engine/workspace/scope.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { outsideRepository } from "../../system/git/outside-repository.ts";
import { Git } from "../../system/process/git.ts";
import type { NewReference, NewSandbox } from "../folder/workspace-strategy.ts";
import { type Checkout, findCheckout } from "../git-worktree/checkout/checkout.ts";
import { LandingFolder } from "../git-worktree/landing/landing-record.ts";
import { shownMove } from "../git-worktree/landing/ref-moves.ts";
import { REPOSITORY } from "../git-worktree/layout.ts";
import { dropRefs, refsOf } from "../git-worktree/repository/repository-refs.ts";
import { SandboxParts } from "../git-worktree/sandbox-parts.ts";
import type { Layers } from "../overlay/landed-layer.ts";
import type { OverlayWay } from "../overlay/layout.ts";
import { OverlayStrategy } from "../overlay/overlay.ts";
import { CheckoutLandings } from "./checkout-landings.ts";
import {
  DOT_GIT,
  notAsFiles,
  ownerOf,
  pathBelow,
  pathIn,
  REPOSITORY_TYPE,
  type RepositoryPlace,
  repositoryPlace,
} from "./layout.ts";
import { OpenRepository } from "./open-repository.ts";
import { pinRepository } from "./pinned-repository.ts";
import { isEmpty, type RepositoryChanges, repositoryChanges } from "./repository-changes.ts";
import { shownRepository } from "./shown-repository.ts";

/** What a prepared landing consists of. Absent: nothing to do there. */
interface Both {
  readonly files?: PreparedCommit;
  readonly repository?: PreparedCommit;
}

/**
 * A git checkout at its own path, with everything in it: an overlay of the whole checkout, whose repository
 * lands by git's own rules. Objects are added, refs move under git's locks, the index takes over what was
 * staged, logs get their lines. Everything else lands as files do, settings and hooks too, which need the
 * user's word. layout.ts lists the files of a sandbox.
 *
 * A checkout of which git itself shows only a part, or whose repository we can't lock, lands file by file.
 */
export class GitCheckoutStrategy extends OverlayStrategy {
  readonly #git: Git;

  constructor(context: StrategyContext, allowed?: readonly OverlayWay[]) {
    // For a checkout it comes before the worktree at another path.
    super(context, allowed, {
      strength: builtInStrength("git_worktree") + 5,
      resourceTypes: ["git-checkout", REPOSITORY_TYPE],
    });
    this.#git = new Git(context.environment ?? {}, context.git?.limitMilliseconds);
  }

  override async probe(resource: Resource): Promise<ProbeResult> {
    const probed = await super.probe(resource);
    if (!probed.works || resource.properties["example"] === true) return probed;
    const reason = whyNotHere(resource);
    if (reason !== undefined) return { works: false, reason };
    const { repositoryAt } = resource.properties;
    if (typeof repositoryAt === "string") return await super.probe({ ...resource, location: repositoryAt });
    const why = await this.#whyAsFiles(resource);
    return why === undefined ? probed : { ...probed, note: `${probed.note ?? "works"}; ${asFiles(why)}` };
  }

  /** They are those of every overlay, which are listed once. */
  override async ways(): Promise<readonly []> {
    return [];
  }

  override async create(planId: string, resource: Resource): Promise<SandboxRef> {
    const reason = whyNotHere(resource);
    if (reason !== undefined)
      throw new UnsupportedError(
        `${displayPath(resource.location)} can't be worked on at its own path: ${reason}.`,
        {
          hint: "Use git_worktree.",
          code: "UNSUITABLE_CHECKOUT",
        },
      );
    if (resource.properties["repositoryAt"] !== undefined) return await super.create(planId, resource);
    const { without = [] } = withoutFrom(resource.properties);
    const owner = ownerOf(resource.properties);
    const repository = owner === undefined ? DOT_GIT : pathBelow(resource.location, owner.gitDir);
    const isByGit = (await this.#whyAsFiles(resource)) === undefined;
    const excluded = isByGit ? [...without, ...notAsFiles(repositoryPlace(repository))] : without;
    const properties = { ...resource.properties, without: excluded, repository };
    return await super.create(planId, { ...resource, properties });
  }

  /** The reference says to which checkout a repository belongs, and where the repository of a checkout is. */
  protected override async design(made: NewReference, resource: Resource): Promise<NewSandbox> {
    const designed = await super.design(made, resource);
    const { repositoryAt } = resource.properties;
    const facts = { ...ownerOf(resource.properties), ...(repositoryAt !== undefined && { repositoryAt }) };
    const { ref } = designed;
    return { ...designed, ref: { ...ref, metadata: { ...ref.metadata, ...facts } } };
  }

  /** At another path, git would find the user's repository instead of that of the sandbox. */
  override async path(ref: SandboxRef): Promise<string> {
    if (ref.metadata["repositoryAt"] === undefined) return await super.path(ref);
    throw new UnsupportedError(
      "This checkout has its repository elsewhere, so its sandbox is shown only to programs that Drydock starts.",
      { code: "NO_PATH" },
    );
  }

  override async diff(ref: SandboxRef, take?: TakeChange): Promise<DiffView> {
    const shown = await this.#shown(ref);
    const count = new DiffCount();
    const kept: Change[] = [];
    const takeOne = (change: Change) => {
      count.add(change);
      if (take === undefined) kept.push(change);
      else take(change);
    };
    shown.forEach(takeOne);
    await super.diff(ref, takeOne);
    return { changes: kept, stats: count.stats };
  }

  override async prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    try {
      return transaction.undoes === undefined
        ? await this.#prepare(ref, transaction)
        : await this.#prepareUndo(ref, transaction, transaction.undoes);
    } catch (thrown) {
      // The user's repository must not stay locked.
      await this.rollbackPrepared(ref, transaction);
      throw thrown;
    }
  }

  override async commitPrepared(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<CommitResult> {
    const { files, repository } = bothOf(prepared);
    const landed =
      files === undefined ? undefined : await super.commitPrepared(ref, unwrapped(transaction), files);
    if (repository === undefined) return { changes: prepared.changes, attention: landed?.attention ?? [] };
    using parts = this.#parts(ref, openPlaceOf(ref));
    const tree = this.tree(parts.workspace, scopeFrom(ref));
    if (tree.isFinished) tree.markStale();
    const attention = await this.#landings(ref, parts).run(repository);
    return { changes: prepared.changes, attention: [...(landed?.attention ?? []), ...attention] };
  }

  override async rollbackPrepared(ref: SandboxRef, transaction: Transaction): Promise<readonly Attention[]> {
    const workspace = openPlaceIfThere(ref);
    if (workspace === undefined) return [];
    using parts = this.#parts(ref, workspace);
    const landings = this.#landings(ref, parts);
    if (transaction.undoes !== undefined) {
      const { files, repository } = bothOf(transaction.undoes.prepared);
      if (repository !== undefined) landings.rollbackUndo(transaction.id, repository);
      return files === undefined ? [] : await super.rollbackPrepared(ref, unwrapped(transaction));
    }
    const attention = await super.rollbackPrepared(ref, transaction);
    const tree = this.tree(workspace, scopeFrom(ref));
    return [...attention, ...(await landings.rollbackPrepared(transaction, () => tree.markFresh()))];
  }

  override async landed(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<readonly Change[]> {
    const { files, repository } = bothOf(prepared);
    const place = placeByGit(scopeFrom(ref));
    using parts = this.#parts(ref, openPlaceOf(ref));
    const moves = repository === undefined ? [] : this.#landings(ref, parts).landed(repository).moves;
    return [
      ...(place === undefined ? [] : moves.map((move) => shownMove(move, pathIn(place, move.ref)))),
      ...(files === undefined ? [] : await super.landed(ref, transaction, files)),
    ];
  }

  override async readLanded(
    ref: SandboxRef,
    path: string,
    landed: LandedSide,
  ): Promise<Uint8Array | undefined> {
    const { files } = bothOf(landed.prepared);
    return files && (await super.readLanded(ref, path, { ...landed, prepared: files }));
  }

  override async rollback(ref: SandboxRef): Promise<void> {
    if (placeByGit(scopeFrom(ref)) !== undefined) await this.#rollbackRepository(ref);
    await super.rollback(ref);
  }

  async #rollbackRepository(ref: SandboxRef): Promise<void> {
    using parts = this.#parts(ref, openPlaceOf(ref));
    const landings = this.#landings(ref, parts);
    try {
      for (const id of LandingFolder.ids(parts.workspace)) await landings.revert(id);
      await landings.dropLandingRefs();
    } catch (thrown) {
      throw notRolledBack(parts.checkout.root, false, thrown);
    }
  }

  protected override begin(layers: Layers, scope: Scope): void {
    const place = placeByGit(scope);
    if (place !== undefined) pinRepository(layers, place);
  }

  protected override forgetLanding(ref: SandboxRef, workspace: Folder, prepared: PreparedCommit): void {
    const { files, repository } = bothOf(prepared);
    if (repository !== undefined) this.#landings(ref, this.#parts(ref, workspace)).discard(repository);
    if (files !== undefined) super.forgetLanding(ref, workspace, files);
  }

  protected override hasLandings(ref: SandboxRef, workspace: Folder): boolean {
    return super.hasLandings(ref, workspace) || LandingFolder.ids(workspace).length > 0;
  }

  protected override async release(ref: SandboxRef, workspace: Folder | undefined): Promise<void> {
    if (workspace?.facts(REPOSITORY) !== undefined)
      await dropRefs(this.#git, checkoutOf(ref), refsIn(ref), "all");
    await super.release(ref, workspace);
  }

  async #prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    using workspace = openPlaceOf(ref);
    await this.freeze(ref, workspace);
    // A part is files alone; commits land with the rest.
    const repository =
      transaction.only === undefined ? await this.#prepareRepository(ref, transaction) : undefined;
    const files = (await super.prepare(ref, transaction)) ?? undefined;
    return together({ ...(files && { files }), ...(repository && { repository }) });
  }

  async #prepareRepository(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | undefined> {
    return await this.#withChanges(ref, async (parts, changes, repository) =>
      isEmpty(changes)
        ? undefined
        : await this.#landings(ref, parts).prepare(transaction, changes, repository),
    );
  }

  async #prepareUndo(
    ref: SandboxRef,
    transaction: Transaction,
    { prepared }: NonNullable<Transaction["undoes"]>,
  ): Promise<PreparedCommit | null> {
    const landed = bothOf(prepared);
    using parts = this.#parts(ref, openPlaceOf(ref));
    const repository =
      landed.repository && (await this.#landings(ref, parts).prepareUndo(transaction.id, landed.repository));
    const files = (landed.files && (await super.prepare(ref, unwrapped(transaction)))) ?? undefined;
    return together({ ...(files && { files }), ...(repository && { repository }) });
  }

  async #shown(ref: SandboxRef): Promise<readonly Change[]> {
    return (await this.#withChanges(ref, (parts, changes) => shownRepository(parts, changes))) ?? [];
  }

  /** Calls back with the changes of the repository, unless programs have removed it. */
  async #withChanges<T>(
    ref: SandboxRef,
    action: (parts: SandboxParts, changes: RepositoryChanges, repository: OpenRepository) => Promise<T>,
  ): Promise<T | undefined> {
    using sandbox = await this.open(ref);
    const place = placeByGit(sandbox.scope);
    using repository = place && OpenRepository.in(sandbox.own, place);
    if (place === undefined || repository === undefined) return undefined;
    const parts = this.#parts(ref, sandbox.workspace);
    const changes = await repositoryChanges(parts, repository, place);
    return await action(parts, changes, repository);
  }

  #landings(ref: SandboxRef, parts: SandboxParts): CheckoutLandings {
    const { signal, now } = this.context;
    const exchange = this.landings(parts.workspace, scopeFrom(ref));
    return new CheckoutLandings(parts, { exchange, refs: refsIn(ref), signal, now });
  }

  #parts(ref: SandboxRef, workspace: Folder): SandboxParts {
    return new SandboxParts(this.#git, checkoutOf(ref), workspace);
  }

  /** Why git's own rules can't be kept for a checkout. */
  async #whyAsFiles({ location, properties }: Resource): Promise<string | undefined> {
    const owner = ownerOf(properties);
    try {
      const { checkout } = await findCheckout(this.#git, owner?.worktree ?? location, { mayBeSparse: true });
      const isHere = checkout.gitDir === (owner?.gitDir ?? `${location}/${DOT_GIT}`);
      return isHere ? undefined : "its repository is elsewhere";
    } catch (thrown) {
      if (thrown instanceof UnsupportedError) return messageOf(thrown).replace(/\.$/, "");
      throw thrown;
    }
  }
}

/** Where the repository of a sandbox is, if it lands by git's own rules and not file by file. */
function placeByGit({ repository, without = [] }: Scope): RepositoryPlace | undefined {
  const place = repository === undefined ? undefined : repositoryPlace(repository);
  return place !== undefined && without.includes(pathIn(place, "HEAD")) ? place : undefined;
}

/** Why a checkout has no sandbox at its own path. */
function whyNotHere({ type, location, properties }: Resource): string | undefined {
  if (type === REPOSITORY_TYPE)
    return ownerOf(properties) === undefined ? "no checkout of the plan belongs to it" : undefined;
  const isElsewhere = outsideRepository(location) !== undefined;
  if (isElsewhere && properties["repositoryAt"] === undefined)
    return "its repository is elsewhere and not part of the plan";
  if (properties["from"] === "head") return "it shows the files as they are, not as committed";
  return undefined;
}

function asFiles(why: string): string {
  return `its repository lands file by file: ${why}`;
}

function checkoutOf(ref: SandboxRef): Checkout {
  const { root } = scopeFrom(ref);
  const owner = ownerOf(ref.metadata);
  const gitDir = owner?.gitDir ?? `${root}/${DOT_GIT}`;
  const commonDir = owner === undefined ? gitDir : root;
  return { root: owner?.worktree ?? root, gitDir, commonDir, objectFormat: "sha1" };
}

function refsIn({ planId, resourceId }: SandboxRef): string {
  return refsOf(planId, resourceId);
}

function together(both: Both): PreparedCommit | null {
  const { files, repository } = both;
  if (files === undefined && repository === undefined) return null;
  const data = Object.fromEntries(Object.entries(both).map(([part, prepared]) => [part, { ...prepared }]));
  return { changes: (files?.changes ?? 0) + (repository?.changes ?? 0), data };
}

function bothOf({ data }: PreparedCommit): Both {
  return data as unknown as Both;
}

/** The transaction as the strategy of folders knows it. */
function unwrapped(transaction: Transaction): Transaction {
  const { undoes } = transaction;
  const files = undoes === undefined ? undefined : bothOf(undoes.prepared).files;
  return undoes === undefined || files === undefined
    ? transaction
    : { ...transaction, undoes: { ...undoes, prepared: files } };
}
