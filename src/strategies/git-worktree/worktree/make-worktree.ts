import { copyTree } from "../../../engine/tree/copy-tree.ts";
import { removeTree } from "../../../engine/tree/remove-tree.ts";
import { runAtOnce } from "../../../engine/work/pace.ts";
import { failpoint } from "../../../system/failpoints.ts";
import type { Git } from "../../../system/process/git.ts";
import { currentBootId } from "../../../system/process/process-identity.ts";
import { bothSettled } from "../both-settled.ts";
import { type Checkout, type FoundCheckout, type Head, headOf } from "../checkout/checkout.ts";
import { copyIndex, ScratchIndex } from "../checkout/index-files.ts";
import { DOT_GIT, REPOSITORY, SANDBOX, WORKTREE } from "../layout.ts";
import {
  copiedRefs,
  makeObjectsFolder,
  makeOwnRepository,
  makeWorkRepository,
} from "../repository/repositories.ts";
import { type ConfigEntry, identityFrom, readConfig } from "../repository/repository-config.ts";
import { keepBase } from "../repository/repository-refs.ts";
import { storeTree } from "../repository/store-tree.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import { type Start, writeRecord } from "../sandbox-record.ts";
import { commitTree, treeOf } from "./work-commit.ts";

const POINTS = { remove: failpoint("git.remove-old"), checkOut: failpoint("git.check-out-all") };

export interface MakeOptions {
  readonly start: Start;
  /** The prefix of this sandbox's refs in the user's repository. */
  readonly refs: string;
  /** The branch that programs are on. */
  readonly branch: string;
  readonly signal: AbortSignal;
  readonly onProgress: (done: number, total: number) => void;
}

/**
 * Makes a worktree with its repositories from what is checked out now, or from `found`. Removes an earlier
 * worktree first, finished or not.
 */
export async function makeWorktree(
  parts: SandboxParts,
  options: MakeOptions,
  found?: CheckedOut,
): Promise<void> {
  const { git, checkout, workspace } = parts;
  for (const name of [SANDBOX, WORKTREE, REPOSITORY]) removeTree(POINTS.remove, workspace, name);
  const [checkedOut, refs] = await bothSettled(
    found === undefined ? lookAt(git, checkout) : Promise.resolve(found),
    copiedRefs(git, checkout),
  );
  await bothSettled(
    keepBase(git, checkout, options.refs, checkedOut.head.commit),
    fillWorkspace(parts, options, checkedOut, refs),
  );
}

type CheckedOut = Pick<FoundCheckout, "head" | "config">;

async function lookAt(git: Git, checkout: Checkout): Promise<CheckedOut> {
  const [head, config] = await bothSettled(headOf(git, checkout), readConfig(git, checkout));
  return { head, config };
}

async function fillWorkspace(
  parts: SandboxParts,
  options: MakeOptions,
  { head, config }: CheckedOut,
  refs: Uint8Array,
): Promise<void> {
  const { git, checkout, workspace } = parts;
  const objects = makeObjectsFolder(workspace);
  makeOwnRepository(workspace, checkout, config, { head: head.commit, programs: objects });
  const base =
    options.start === "head" ? head.commit : await uncommittedBase(parts, head, config, options.signal);
  makeWorkRepository(workspace, checkout, config, { branch: options.branch, commit: base, refs });
  const { signal, onProgress } = options;
  await git.change(POINTS.checkOut, parts.onWorktree(), ["read-tree", "-v", "-u", "--reset", base], {
    signal,
    onProgress,
  });
  using repository = parts.openRepository();
  using programs = workspace.openBelow(`${WORKTREE}/${DOT_GIT}`);
  copyIndex(repository, "index", programs, "index");
  writeRecord(workspace, { base, head: head.commit, ref: head.ref, bootId: currentBootId() });
}

/**
 * Commits the checkout as it is, with uncommitted and untracked files. The user's index, stash and files do
 * not change.
 */
async function uncommittedBase(
  parts: SandboxParts,
  head: Head,
  config: readonly ConfigEntry[],
  signal: AbortSignal,
): Promise<string> {
  const { git, workspace } = parts;
  using gitDir = parts.openGitDir();
  using original = parts.openOriginal();
  using index = ScratchIndex.copyOf(gitDir, "index", workspace);
  const context = parts.onCheckout(index.path);
  const { tree } = await storeTree(git, context, original, { untracked: "but-ignored", signal });
  if (tree === (await treeOf(parts, context, head.commit))) return head.commit;
  const text = { identity: identityFrom(config), message: async (does: string) => does };
  const does = "The checkout as it was, with what was not committed";
  const commit = await commitTree(parts, context, { tree, parents: [head.commit], does }, text);
  // Programs need these objects in a place that they can see.
  using from = workspace.openBelow(`${REPOSITORY}/objects`);
  using to = workspace.openBelow(`${WORKTREE}/${DOT_GIT}/objects`);
  runAtOnce(copyTree(from, to, { data: "share", filter: (path) => path !== "info" }));
  return commit;
}
