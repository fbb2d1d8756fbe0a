import { GitError, SandboxCommitError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import { sameFileContent } from "../../engine/tree/same-entry.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { lineOf } from "../../system/process/git.ts";
import { underWay } from "../git-worktree/checkout/checkout.ts";
import { ScratchIndex } from "../git-worktree/checkout/index-files.ts";
import { assertHarmless } from "../git-worktree/landing/landing-plan.ts";
import { isRefName, targetOf } from "../git-worktree/repository/ref-files.ts";
import { readLog } from "../git-worktree/repository/ref-log.ts";
import { makeOwnRepository } from "../git-worktree/repository/repositories.ts";
import { readConfig } from "../git-worktree/repository/repository-config.ts";
import { DURABLE } from "../git-worktree/repository/store-tree.ts";
import { type BlobChange, treeChanges } from "../git-worktree/repository/tree-changes.ts";
import type { SandboxParts } from "../git-worktree/sandbox-parts.ts";
import { BASE_INDEX } from "./layout.ts";
import { type RepositoryBase, type RepositoryState, readBase, STASH, stateOf } from "./pinned-repository.ts";

const INDEX = "index";
const SHA1_LENGTH = 40;
const WRITE_TREE = failpoint("git-checkout.write-tree");

/** A ref, or HEAD without a branch, that is not where it was. Absent: there is no such ref. */
export interface RefChange {
  readonly ref: string;
  readonly from?: string;
  readonly to?: string;
}

/** What programs did to the repository of a sandbox. */
export interface RepositoryChanges {
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
  /** Why the index is no tree: it has conflicts, or is broken. */
  readonly brokenIndex?: string;
}

export function isEmpty(changes: RepositoryChanges): boolean {
  const { refs, isSwitched, isStashRewritten, index, brokenIndex } = changes;
  return refs.length + index.length === 0 && !isSwitched && !isStashRewritten && brokenIndex === undefined;
}

/**
 * Finds the changes. `repository` is the sandbox's, in the upper layer. Makes our own repository if there are
 * any.
 */
export async function repositoryChanges(parts: SandboxParts, repository: Folder): Promise<RepositoryChanges> {
  const base = readBase(parts.workspace);
  const now = stateOf(repository);
  const refs = refChanges(base, now);
  for (const { ref } of refs) if (ref !== "HEAD" && !isRefName(ref)) throw badName(ref);
  const stash = readLog(repository, STASH);
  const isStashRewritten = base.stash !== undefined && stash?.startsWith(base.stash) !== true;
  const isSwitched = base.head !== now.head && !refs.some(({ ref }) => ref === "HEAD");
  const found = { base, now, refs, isSwitched, isStashRewritten };
  const isSame = isSameIndex(parts.workspace, repository);
  if (!isSame || !isEmpty({ ...found, index: [] })) await makeRepository(parts, repository, base);
  if (isSame) return { ...found, index: [] };
  const [before, after] = [
    await treeOfIndex(parts, parts.workspace, BASE_INDEX),
    await treeOfIndex(parts, repository, INDEX),
  ];
  if ("broken" in after) return { ...found, index: [], brokenIndex: after.broken };
  if ("broken" in before) return { ...found, index: [], brokenIndex: before.broken };
  const index = await treeChanges(parts.git, parts.onCheckout(), {
    from: before.tree,
    to: after.tree,
    renames: false,
  });
  assertHarmless(index);
  return { ...found, index, ...(index.length > 0 && { indexTree: after.tree }) };
}

/** Makes our own repository, which borrows the objects of both layers. */
async function makeRepository(parts: SandboxParts, repository: Folder, base: RepositoryBase): Promise<void> {
  const { git, checkout, workspace } = parts;
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
export function assertWhole(changes: RepositoryChanges, repository: Folder): void {
  const busy = underWay(repository.path);
  if (busy === undefined && changes.brokenIndex !== undefined) throw brokenIndex(changes.brokenIndex);
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

/** The index as a tree, or why it can't be one. */
async function treeOfIndex(
  parts: SandboxParts,
  folder: Folder,
  name: string,
): Promise<{ readonly tree: string } | { readonly broken: string }> {
  const kind = folder.facts(name)?.kind;
  if (kind !== undefined && kind !== "file") return { broken: `it is a ${kind}` };
  using index = ScratchIndex.copyOf(folder, name, parts.workspace);
  try {
    const context = parts.onCheckout(index.path);
    return {
      tree: lineOf(await parts.git.change(WRITE_TREE, context, ["write-tree"], { settings: DURABLE })),
    };
  } catch (thrown) {
    if (thrown instanceof GitError && thrown.exitCode !== undefined) return { broken: thrown.said };
    throw thrown;
  }
}

function brokenIndex(why: string): SandboxCommitError {
  return new SandboxCommitError(`The index in the sandbox has conflicts, or can't be read: ${why}`, {
    hint: "Look at 'git status' there, resolve what is open, and apply again.",
  });
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
