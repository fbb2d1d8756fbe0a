import { type Change, DiffCount, type DiffView, type TakeChange } from "../../core/change.ts";
import { UnsupportedError } from "../../core/errors/errors.ts";
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
import { openSaved } from "../../engine/checkpoint/tree-checkpoints.ts";
import { Landings } from "../../engine/landing/landings.ts";
import {
  notRolledBack,
  openPlaceIfThere,
  openPlaceOf,
  scopeFrom,
} from "../../engine/sandbox/sandbox-reference.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { type Scope, withoutFrom } from "../../engine/workspace/scope.ts";
import { removeAllBut } from "../../engine/workspace/workspace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { Git } from "../../system/process/git.ts";
import type { NewReference, NewSandbox } from "../folder/workspace-strategy.ts";
import { LandingFolder } from "../git-worktree/landing/landing-record.ts";
import { shownMove } from "../git-worktree/landing/ref-moves.ts";
import { REPOSITORY } from "../git-worktree/layout.ts";
import { dropRefs, refsOf } from "../git-worktree/repository/repository-refs.ts";
import type { Layers } from "../overlay/base-record.ts";
import type { OverlayWay } from "../overlay/layout.ts";
import { OverlayStrategy } from "../overlay/overlay.ts";
import {
  DOT_GIT,
  notAsFiles,
  ownerOf,
  pathBelow,
  pathIn,
  REPOSITORY_TYPE,
  repositoryFolders,
  SUBMODULES,
} from "./layout.ts";
import { OpenRepository } from "./open-repository.ts";
import { pinRepository, pinSubmodules } from "./pinned-repository.ts";
import { FILES, ofFiles, type PreparedPart, partsOf, together } from "./prepared-parts.ts";
import { isEmpty, type RepositoryChanges, repositoryChanges } from "./repository-changes.ts";
import {
  placeByGit,
  SandboxRepositories,
  type SandboxRepository,
  withRepositories,
} from "./sandbox-repositories.ts";
import { shownRepository } from "./shown-repository.ts";
import { placeOfSubmodule, submodulesOf } from "./submodules.ts";
import { asFiles, whyAsFiles, whyNotHere } from "./suitability.ts";

/**
 * A git checkout at its own path, with everything in it: an overlay of the whole checkout, whose repository
 * lands by git's own rules. Objects are added, refs move under git's locks, the index takes over what was
 * staged, logs get their lines. So do the repositories of its submodules. Everything else lands as files do,
 * settings and hooks too, which need the user's word. layout.ts lists the files of a sandbox.
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
      // What lands meanwhile lands as a part, and a part has no commits.
      whileRunning: ["checkpoint", "restore"],
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
    const why = await whyAsFiles(this.#git, resource);
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
    const properties = { ...resource.properties, without, repository };
    if ((await whyAsFiles(this.#git, resource)) !== undefined)
      return await super.create(planId, { ...resource, properties });
    const { location } = resource;
    const submodules = await submodulesOf(this.#git, { location, worktree: owner?.worktree ?? location });
    const places = [repositoryFolders(repository), ...submodules.map(placeOfSubmodule)];
    const excluded = {
      without: [...without, ...places.flatMap(notAsFiles)],
      submodules: submodules.map((each) => ({ ...each })),
    };
    return await super.create(planId, { ...resource, properties: { ...properties, ...excluded } });
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
    await super.diff(await this.#withoutGone(ref), takeOne);
    return { changes: kept, stats: count.stats };
  }

  override async saved(ref: SandboxRef, checkpointId: string): Promise<readonly Change[]> {
    using workspace = openPlaceOf(ref);
    using layer = openSaved(workspace, checkpointId).entries;
    const shown = await this.#shown(ref, layer);
    return [...shown, ...(await super.saved(await this.#withoutGone(ref, layer), checkpointId))];
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
    const parts = partsOf(prepared);
    const files = parts[FILES];
    const landed =
      files === undefined ? undefined : await super.commitPrepared(ref, ofFiles(transaction), files);
    const attention = [...(landed?.attention ?? [])];
    using workspace = openPlaceOf(ref);
    using repositories = this.#repositories(ref, workspace);
    for (const [{ landings }, part] of repositories.of(parts)) {
      const tree = this.tree(workspace, scopeFrom(ref));
      if (tree.isFinished) tree.markStale();
      attention.push(...(await landings.run(part)));
    }
    return { changes: prepared.changes, attention };
  }

  override async rollbackPrepared(ref: SandboxRef, transaction: Transaction): Promise<readonly Attention[]> {
    using workspace = openPlaceIfThere(ref);
    if (workspace === undefined) return [];
    using repositories = this.#repositories(ref, workspace);
    if (transaction.undoes !== undefined) {
      const parts = partsOf(transaction.undoes.prepared);
      for (const [{ landings }, part] of repositories.of(parts)) landings.rollbackUndo(transaction.id, part);
      return parts[FILES] === undefined ? [] : await super.rollbackPrepared(ref, ofFiles(transaction));
    }
    const attention = [...(await super.rollbackPrepared(ref, transaction))];
    const tree = this.tree(workspace, scopeFrom(ref));
    for (const { landings } of repositories.all)
      attention.push(...(await landings.rollbackPrepared(transaction, () => tree.markFresh())));
    return attention;
  }

  override async landed(
    ref: SandboxRef,
    transaction: Transaction,
    prepared: PreparedCommit,
  ): Promise<readonly Change[]> {
    const parts = partsOf(prepared);
    using workspace = openPlaceOf(ref);
    using repositories = this.#repositories(ref, workspace);
    const moves = repositories
      .of(parts)
      .flatMap(([{ landings, place }, part]) =>
        landings.landed(part).moves.map((move) => shownMove(move, pathIn(place, move.ref))),
      );
    const files = parts[FILES];
    return [...moves, ...(files === undefined ? [] : await super.landed(ref, transaction, files))];
  }

  override async readLanded(
    ref: SandboxRef,
    path: string,
    landed: LandedSide,
  ): Promise<Uint8Array | undefined> {
    const files = partsOf(landed.prepared)[FILES];
    return files && (await super.readLanded(ref, path, { ...landed, prepared: files }));
  }

  override async rollback(ref: SandboxRef): Promise<void> {
    if (placeByGit(scopeFrom(ref)) !== undefined) await this.#rollbackRepositories(ref);
    await super.rollback(ref);
  }

  async #rollbackRepositories(ref: SandboxRef): Promise<void> {
    using workspace = openPlaceOf(ref);
    using repositories = this.#repositories(ref, workspace);
    try {
      for (const { landings, parts } of repositories.all) {
        for (const id of LandingFolder.ids(parts.workspace)) await landings.revert(id);
        await landings.dropLandingRefs();
      }
    } catch (thrown) {
      throw notRolledBack(scopeFrom(ref).root, false, thrown);
    }
  }

  protected override begin(layers: Layers, scope: Scope): void {
    const place = placeByGit(scope);
    if (place === undefined) return;
    pinRepository(layers, place);
    pinSubmodules(layers, scope.submodules ?? []);
  }

  protected override savedScope(scope: Scope): Scope {
    return withRepositories(scope);
  }

  protected override async forgetLanding(
    ref: SandboxRef,
    workspace: Folder,
    prepared: PreparedCommit,
  ): Promise<void> {
    const parts = partsOf(prepared);
    using repositories = this.#repositories(ref, workspace);
    for (const [{ landings }, part] of repositories.of(parts)) landings.discard(part);
    const files = parts[FILES];
    if (files !== undefined) await super.forgetLanding(ref, workspace, files);
  }

  protected override hasLandings(ref: SandboxRef, workspace: Folder): boolean {
    if (super.hasLandings(ref, workspace)) return true;
    using repositories = this.#repositories(ref, workspace);
    return repositories.all.some(({ parts }) => LandingFolder.ids(parts.workspace).length > 0);
  }

  protected override async release(ref: SandboxRef, workspace: Folder | undefined): Promise<void> {
    if (workspace !== undefined) await this.#releaseRepositories(ref, workspace);
    await super.release(ref, workspace);
  }

  /** Of a submodule only the undo records stay. */
  async #releaseRepositories(ref: SandboxRef, workspace: Folder): Promise<void> {
    using repositories = this.#repositories(ref, workspace);
    for (const { parts, isSubmodule } of repositories.all) {
      if (parts.workspace.facts(REPOSITORY) !== undefined)
        await dropRefs(this.#git, parts.checkout, refsOf(ref.planId, ref.resourceId), "all");
      if (isSubmodule) removeAllBut(this.removal.point, parts.workspace, this.removal.keeps);
    }
    const hasRecords = repositories.all.some(
      ({ parts, isSubmodule }) => isSubmodule && LandingFolder.ids(parts.workspace).length > 0,
    );
    if (!hasRecords) removeTree(this.removal.point, workspace, SUBMODULES);
  }

  async #prepare(ref: SandboxRef, transaction: Transaction): Promise<PreparedCommit | null> {
    using workspace = openPlaceOf(ref);
    await this.freeze(ref, workspace);
    // A part is files alone; commits land with the rest.
    const repositories =
      transaction.only === undefined ? await this.#prepareRepositories(ref, transaction) : [];
    const files = await super.prepare(await this.#withoutGone(ref), transaction);
    return together([[FILES, files], ...repositories]);
  }

  async #prepareRepositories(ref: SandboxRef, transaction: Transaction): Promise<readonly PreparedPart[]> {
    // A commit of the checkout names those of its submodules, so they stay as they are.
    const { squash: _, ...asTheyAre } = transaction;
    return await this.#eachChanged(ref, async ({ part, landings, isSubmodule }, changes, repository) => [
      part,
      isEmpty(changes)
        ? null
        : await landings.prepare(isSubmodule ? asTheyAre : transaction, changes, repository),
    ]);
  }

  async #prepareUndo(
    ref: SandboxRef,
    transaction: Transaction,
    { prepared }: NonNullable<Transaction["undoes"]>,
  ): Promise<PreparedCommit | null> {
    const landed = partsOf(prepared);
    using workspace = openPlaceOf(ref);
    using repositories = this.#repositories(ref, workspace);
    const undone: PreparedPart[] = [];
    for (const [{ part, landings }, known] of repositories.of(landed))
      undone.push([part, await landings.prepareUndo(transaction.id, known)]);
    const files = landed[FILES] === undefined ? null : await super.prepare(ref, ofFiles(transaction));
    return together([[FILES, files], ...undone]);
  }

  async #shown(ref: SandboxRef, layer?: Folder): Promise<readonly Change[]> {
    const shown = ({ parts }: SandboxRepository, changes: RepositoryChanges) =>
      shownRepository(parts, changes);
    return (await this.#eachChanged(ref, shown, layer)).flat();
  }

  /**
   * Calls back with the changes of each repository, unless programs have removed it: in this layer, or in
   * that of the sandbox.
   */
  async #eachChanged<T>(
    ref: SandboxRef,
    action: (one: SandboxRepository, changes: RepositoryChanges, repository: OpenRepository) => Promise<T>,
    layer?: Folder,
  ): Promise<readonly T[]> {
    using sandbox = await this.open(ref);
    using repositories = this.#repositories(ref, sandbox.workspace);
    const results: T[] = [];
    for (const one of repositories.all) {
      using repository = OpenRepository.in(layer ?? sandbox.own, one.place);
      if (repository === undefined) continue;
      using now = layer && OpenRepository.in(sandbox.own, one.place);
      const changes = await repositoryChanges(one.parts, repository, one.place, now?.common);
      results.push(await action(one, changes, repository));
    }
    return results;
  }

  /** The reference without submodules whose repository programs have removed: it goes as files do. */
  async #withoutGone(ref: SandboxRef, layer?: Folder): Promise<SandboxRef> {
    const { submodules = [], without = [] } = scopeFrom(ref);
    if (submodules.length === 0) return ref;
    using sandbox = await this.open(ref);
    const gone = submodules.map(placeOfSubmodule).filter((place) => {
      using repository = OpenRepository.in(layer ?? sandbox.own, place);
      return repository === undefined;
    });
    const asFiles = new Set(gone.flatMap(notAsFiles));
    return { ...ref, metadata: { ...ref.metadata, without: without.filter((path) => !asFiles.has(path)) } };
  }

  #repositories(ref: SandboxRef, workspace: Folder): SandboxRepositories {
    const { signal, now } = this.context;
    const scope = scopeFrom(ref);
    const exchange = (folder: Folder) => new Landings(folder, this.touches(folder, scope), this.work);
    return new SandboxRepositories(ref, workspace, { git: this.#git, exchange, signal, now });
  }
}
