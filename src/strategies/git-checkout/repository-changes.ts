import { SandboxCommitError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { sameFileContent } from "../../engine/tree/same-entry.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { isThere } from "../../system/data/existence.ts";
import { underWay } from "../git-worktree/checkout/checkout.ts";
import { ScratchIndex } from "../git-worktree/checkout/index-files.ts";
import { assertHarmless } from "../git-worktree/landing/landing-plan.ts";
import { assertThere } from "../git-worktree/landing/landing-refusals.ts";
import { isRefName, targetOf } from "../git-worktree/repository/ref-files.ts";
import { makeOwnRepository } from "../git-worktree/repository/repositories.ts";
import { readConfig, splitNul } from "../git-worktree/repository/repository-config.ts";
import { type BlobChange, treeChanges } from "../git-worktree/repository/tree-changes.ts";
import type { SandboxParts } from "../git-worktree/sandbox-parts.ts";
import { treeOfIndex } from "./index-tree.ts";
import { BASE_INDEX, type RepositoryFolders } from "./layout.ts";
import { otherWorktrees } from "./nested-worktrees.ts";
import type { OpenRepository, RepositoryState } from "./open-repository.ts";
import { type RepositoryBase, readBase, STASH } from "./pinned-repository.ts";

const INDEX = "index";
/** The patterns of a sparse checkout. */
const PATTERNS = "info/sparse-checkout";
const SHA1_LENGTH = 40;

/** A ref, or HEAD without a branch, that is not where it was. Absent: there is no such ref. */
export interface RefChange {
  readonly ref: string;
  readonly from?: string;
  readonly to?: string;
}

/** A change of a repository that does not land. */
export interface Obstacle {
  readonly name: string;
  readonly why: string;
  readonly hint: string;
}

const OTHER_DEPTH: Obstacle = {
  name: "shallow",
  why: "The history in the sandbox ends elsewhere than that of the original, which is a shallow clone.",
  hint: "Fetch with --unshallow or --depth in the original, not in a plan.",
};
const OTHER_FILES: Obstacle = {
  name: INDEX,
  why: "The sandbox leaves other files out of the checkout than the original does (sparse-checkout).",
  hint: "Use 'git sparse-checkout' in the original, not in a plan.",
};

/** What programs did to the repository of a sandbox. */
export interface RepositoryChanges {
  readonly place: RepositoryFolders;
  readonly base: RepositoryBase;
  readonly now: RepositoryState;
  readonly refs: readonly RefChange[];
  /** HEAD leads to another branch, or to none. */
  readonly isSwitched: boolean;
  /** The list of stashed changes is not the earlier one with more at its end. */
  readonly isStashRewritten: boolean;
  /** The changes of the index. */
  readonly index: readonly BlobChange[];
  /** The tree of the index; absent if the index is the same. */
  readonly indexTree?: string;
  /** Whether programs worked in other worktrees of the repository too. */
  readonly hasNested: boolean;
  /** What does not land, and why. */
  readonly obstacle?: Obstacle;
}

export function isEmpty(changes: RepositoryChanges): boolean {
  const { refs, isSwitched, isStashRewritten, index, hasNested, obstacle } = changes;
  const isMoved = refs.length + index.length > 0 || isSwitched || isStashRewritten;
  return !isMoved && !hasNested && obstacle === undefined;
}

/**
 * Finds the changes. `repository` is the sandbox's, in the upper layer; for a checkpoint it is the saved one,
 * and `objects` is the folder `common` of the sandbox's, which has the objects of both. Makes our own
 * repository if there are any changes.
 */
export async function repositoryChanges(
  parts: SandboxParts,
  repository: OpenRepository,
  place: RepositoryFolders,
  objects = repository.common,
): Promise<RepositoryChanges> {
  const base = readBase(parts.workspace);
  const now = repository.state();
  const refs = refChanges(base, now);
  for (const { ref } of refs) if (ref !== "HEAD" && !isRefName(ref)) throw badName(ref);
  const stash = repository.log(STASH);
  const isStashRewritten = base.stash !== undefined && stash?.startsWith(base.stash) !== true;
  const isSwitched = base.head !== now.head && !refs.some(({ ref }) => ref === "HEAD");
  const hasNested = otherWorktrees(repository).length > 0;
  const depth = repository.shallow() === base.shallow ? {} : { obstacle: OTHER_DEPTH };
  const found = { place, base, now, refs, isSwitched, isStashRewritten, hasNested, ...depth };
  const isSame = isSameIndex(parts.workspace, repository.own);
  if (!isSame || !isEmpty({ ...found, index: [] })) await makeRepository(parts, objects, base);
  if (isSame) return { ...found, index: [] };
  const [before, after] = [
    await treeOfIndex(parts, parts.workspace, BASE_INDEX),
    await treeOfIndex(parts, repository.own, INDEX),
  ];
  if ("broken" in after) return { ...found, index: [], obstacle: brokenIndex(after.broken) };
  if ("broken" in before) return { ...found, index: [], obstacle: brokenIndex(before.broken) };
  if (await leavesOutOthers(parts, repository)) return { ...found, index: [], obstacle: OTHER_FILES };
  const index = await treeChanges(parts.git, parts.onCheckout(), {
    from: before.tree,
    to: after.tree,
    renames: false,
  });
  assertHarmless(index);
  return { ...found, index, ...(index.length > 0 && { indexTree: after.tree }) };
}

/** Whether a sparse checkout leaves out other files than it did. Its marks in the index do not land. */
async function leavesOutOthers(parts: SandboxParts, { own }: OpenRepository): Promise<boolean> {
  const isSparse = own.factsBelow(PATTERNS) !== undefined || isThere(`${parts.checkout.gitDir}/${PATTERNS}`);
  if (!isSparse) return false;
  const [before, after] = [
    await leftOut(parts, parts.workspace, BASE_INDEX),
    await leftOut(parts, own, INDEX),
  ];
  return before !== after;
}

/** The paths in an index that are left out of the checkout. */
async function leftOut(parts: SandboxParts, folder: Folder, name: string): Promise<string> {
  using index = ScratchIndex.copyOf(folder, name, parts.workspace);
  const { stdout } = await parts.git.look(parts.onCheckout(index.path), ["ls-files", "-z", "-t"]);
  return splitNul(stdout)
    .filter((line) => line.startsWith("S "))
    .join("\0");
}

/** Makes our own repository, which borrows the objects of both layers. */
async function makeRepository(parts: SandboxParts, repository: Folder, base: RepositoryBase): Promise<void> {
  const { git, checkout, workspace } = parts;
  assertThere(checkout);
  using objects = repository.openBelowIfThere("objects");
  using info = objects?.openBelowIfThere("info");
  if (info?.facts("alternates") !== undefined) throw borrowed();
  const [object = ""] = [base.head, ...base.refs.values()].filter((value) => targetOf(value) === undefined);
  const objectFormat = object.length > SHA1_LENGTH ? "sha256" : "sha1";
  const programs = objects === undefined ? {} : { programs: objects.path };
  const config = await readConfig(git, checkout);
  makeOwnRepository(workspace, { ...checkout, objectFormat }, config, { head: object, ...programs });
}

/** Refuses while an operation is under way there, such as a merge, or the index is broken. */
export function assertWhole(changes: RepositoryChanges, repository: OpenRepository): void {
  const busy = underWay(repository.own.path);
  const { obstacle } = changes;
  if (busy === undefined && obstacle !== undefined)
    throw new SandboxCommitError(obstacle.why, { hint: obstacle.hint });
  if (busy === undefined) return;
  throw new SandboxCommitError(
    `${busy.replace(/^./, (letter) => letter.toUpperCase())} is under way in the sandbox.`,
    {
      hint: "Finish it there, or abort it, and apply again.",
      code: "UNDER_WAY",
    },
  );
}

/** HEAD counts as a ref where it leads to a commit, before and after. */
function refChanges(base: RepositoryState, now: RepositoryState): RefChange[] {
  const isCommit = (head: string) => head !== "" && !head.startsWith("ref:");
  const heads =
    isCommit(base.head) && isCommit(now.head) && base.head !== now.head
      ? [{ ref: "HEAD", from: base.head, to: now.head }]
      : [];
  const names = [...new Set([...base.refs.keys(), ...now.refs.keys()])].sort();
  const refs = names.flatMap((ref) => {
    const [from, to] = [base.refs.get(ref), now.refs.get(ref)];
    if (from === to) return [];
    return [{ ref, ...(from !== undefined && { from }), ...(to !== undefined && { to }) }];
  });
  return [...heads, ...refs];
}

function isSameIndex(workspace: Folder, repository: Folder): boolean {
  const [before, after] = [workspace.facts(BASE_INDEX), repository.facts(INDEX)];
  if (before === undefined || after === undefined) return before === after;
  return before.size === after.size && sameFileContent(workspace, BASE_INDEX, repository, INDEX);
}

function brokenIndex(why: string): Obstacle {
  return {
    name: INDEX,
    why: `The index in the sandbox has conflicts, or can't be read: ${why}`,
    hint: "Look at 'git status' there, resolve what is open, and apply again.",
  };
}

function borrowed(): SandboxCommitError {
  return new SandboxCommitError("The repository in the sandbox borrows the objects of another one.", {
    hint: "Remove .git/objects/info/alternates there, after 'git repack -a -d'.",
  });
}

function badName(ref: string): SandboxCommitError {
  return new SandboxCommitError(
    `The sandbox has a ref ${displayPath(ref)}, a name that git does not allow.`,
    {
      hint: "A program in the sandbox made it by hand. Check what ran there before you trust the rest.",
      code: "HARMFUL_PATH",
    },
  );
}
