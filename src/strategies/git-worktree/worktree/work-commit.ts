import { SandboxCommitError } from "../../../core/errors/errors.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { type GitContext, lineOf } from "../../../system/process/git.ts";
import { ScratchIndex } from "../checkout/index-files.ts";
import { describedChanges, messagesOf } from "../repository/made-commits.ts";
import { programCommit, programsUnderWay } from "../repository/program-refs.ts";
import type { Identity } from "../repository/repository-config.ts";
import { DURABLE, nulTerminated, type StoredTree } from "../repository/store-tree.ts";
import { type BlobChange, treeChanges } from "../repository/tree-changes.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import type { SandboxRecord } from "../sandbox-record.ts";

const POINTS = { commit: failpoint("git.commit-tree"), index: failpoint("git.build-index") };

/** The work of a sandbox as a commit that can be merged. */
export interface WorkCommit {
  readonly commit: string;
  readonly tree: string;
  /** The changes since the sandbox began. */
  readonly changes: readonly BlobChange[];
  /** Changes of files that were uncommitted when the sandbox began. These stay uncommitted. */
  readonly uncommitted: readonly BlobChange[];
  readonly warnings: readonly string[];
}

/** The identity and the message of a commit. */
export interface CommitText {
  readonly identity: Identity;
  /** Called only if there is a commit to make, with what it does. */
  readonly message: (described: string) => Promise<string>;
}

/** Fails while the worktree is in the middle of an operation, such as a merge. */
export function assertProgramsDone(parts: SandboxParts): void {
  using worktree = parts.openWorktree();
  const busy = programsUnderWay(worktree);
  if (busy === undefined) return;
  throw new SandboxCommitError(
    `${busy} is under way in the sandbox.`.replace(/^./, (letter) => letter.toUpperCase()),
    {
      hint: "Finish it there, or abort it, and apply again.",
      code: "UNDER_WAY",
    },
  );
}

/**
 * Commits the stored files of the worktree, on top of the commits that programs made there. Undefined if
 * there is nothing to land.
 */
export async function commitWork(
  parts: SandboxParts,
  record: SandboxRecord,
  { tree, nested }: StoredTree,
  text: CommitText,
): Promise<WorkCommit | undefined> {
  using worktree = parts.openWorktree();
  const context = parts.onWorktree();
  const changes = await treeChanges(parts.git, context, { from: record.base, to: tree, renames: false });
  const tip = programCommit(worktree) ?? record.base;
  const warnings = nested.map((path) => `${path} is a git repository of its own, which does not land`);
  if (record.base !== record.head) return await fromUncommitted(parts, record, text, { changes, warnings });
  if (changes.length === 0 && tip === record.base) return undefined;
  const isBasedHere = await descends(parts, context, record.base, tip);
  if (changes.length === 0 && !isBasedHere) throw replaced();
  const isCommitted =
    tip === record.base ? false : isBasedHere && (await treeOf(parts, context, tip)) === tree;
  const parent = isBasedHere ? tip : record.base;
  const does = async () =>
    isBasedHere
      ? await describedSince(parts, context, parent, tree)
      : (await messagesOf(parts, record.base, tip)) || describedChanges(changes);
  const made = { tree, parents: [parent] };
  return {
    tree,
    commit: isCommitted ? tip : await commitTree(parts, context, { ...made, does: await does() }, text),
    changes,
    uncommitted: [],
    warnings: isBasedHere ? warnings : [...warnings, REBASED],
  };
}

function replaced(): SandboxCommitError {
  return new SandboxCommitError(
    "The commits made in the sandbox replace those that it began with, and their files are the same: a merge can't land that.",
    { hint: "Use the strategy overlay, which lands branches as they are, or do this in the original." },
  );
}

const REBASED =
  "the commits made in the sandbox are not based on where it began, so its files land as one commit of their own";

/**
 * The case of a sandbox that began with uncommitted files. They are in its base and must not get into the
 * history. So the changes land as one commit on the commit that was checked out, and changes of uncommitted
 * files stay uncommitted.
 */
async function fromUncommitted(
  parts: SandboxParts,
  record: SandboxRecord,
  text: CommitText,
  { changes: all, warnings }: Pick<WorkCommit, "changes" | "warnings">,
): Promise<WorkCommit | undefined> {
  if (all.length === 0) return undefined;
  const theirs = await treeChanges(parts.git, parts.onWorktree(), {
    from: record.head,
    to: record.base,
    renames: false,
  });
  const uncommittedPaths = new Set(theirs.map(({ path }) => path));
  const uncommitted = all.filter(({ path }) => uncommittedPaths.has(path));
  const committed = all.filter(({ path }) => !uncommittedPaths.has(path));
  using index = new ScratchIndex(parts.workspace);
  const context = parts.onWorktree(index.path);
  await parts.git.change(POINTS.index, context, ["read-tree", record.head]);
  await parts.git.change(POINTS.index, context, ["update-index", "--replace", "-z", "--index-info"], {
    input: indexLines(committed, "after"),
  });
  const tree = lineOf(await parts.git.change(POINTS.index, context, ["write-tree"], { settings: DURABLE }));
  const commit =
    committed.length === 0
      ? record.head
      : await commitTree(
          parts,
          context,
          { tree, parents: [record.head], does: describedChanges(committed) },
          text,
        );
  return { commit, tree, changes: all, uncommitted, warnings };
}

/** Lines for `update-index --index-info` that bring an index to one side of these changes. */
export function indexLines(changes: readonly BlobChange[], side: "before" | "after"): Buffer {
  const gone = changes.filter((change) => change[side] === undefined);
  const there = changes.filter((change) => change[side] !== undefined);
  return nulTerminated([
    ...gone.map(({ path, before, after }) => `0 ${(before ?? after)?.id.replace(/./g, "0")}\t${path}`),
    ...there.map((change) => `${change[side]?.mode} ${change[side]?.id}\t${change.path}`),
  ]);
}

async function describedSince(
  { git }: SandboxParts,
  context: GitContext,
  from: string,
  to: string,
): Promise<string> {
  return describedChanges(await treeChanges(git, context, { from, to, renames: false }));
}

/** Makes a commit object. `does` says what it does, in case the user has not said so. */
export async function commitTree(
  { git }: SandboxParts,
  context: GitContext,
  {
    tree,
    parents,
    does,
  }: { readonly tree: string; readonly parents: readonly string[]; readonly does: string },
  { identity, message }: CommitText,
): Promise<string> {
  const args = ["commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent])];
  const answer = await git.change(POINTS.commit, context, args, {
    input: Buffer.from(`${(await message(does)).trimEnd()}\n`),
    settings: DURABLE,
    environment: {
      GIT_AUTHOR_NAME: identity.name,
      GIT_AUTHOR_EMAIL: identity.email,
      GIT_COMMITTER_NAME: identity.name,
      GIT_COMMITTER_EMAIL: identity.email,
    },
  });
  return lineOf(answer);
}

/** Whether a commit is the other, or has it in its history. False if the history can't be read. */
export async function descends(
  { git }: SandboxParts,
  context: GitContext,
  ancestor: string,
  commit: string,
): Promise<boolean> {
  if (ancestor === commit) return true;
  const args = ["merge-base", "--is-ancestor", ancestor, commit];
  return (await git.look(context, args, { answers: [1, 128] })).code === 0;
}

export async function treeOf({ git }: SandboxParts, context: GitContext, commit: string): Promise<string> {
  return await git.line(context, ["rev-parse", "--verify", `${commit}^{tree}`]);
}
