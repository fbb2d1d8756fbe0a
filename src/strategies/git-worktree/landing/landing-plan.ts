import { SandboxCommitError, SandboxConflictError } from "../../../core/errors/errors.ts";
import { baseName, parentPath } from "../../../core/paths/byte-path.ts";
import type { PreparedCommit, Transaction } from "../../../core/strategy.ts";
import type { LandingPolicy } from "../../../core/strategy-policies.ts";
import { takeBarrier } from "../../../engine/base/barrier.ts";
import { LandingRules } from "../../../engine/checks/landing-policy.ts";
import type { Landings } from "../../../engine/landing/landings.ts";
import { giveMetadata } from "../../../engine/tree/metadata.ts";
import type { Facts } from "../../../system/calls/facts.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { readXattrs } from "../../../system/calls/xattrs.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { type CheckoutEntries, EntryBuilder, foldersAbove } from "../checkout/checkout-entries.ts";
import { judgeCheckout, type Pending } from "../checkout/checkout-state.ts";
import { copyIndex, ScratchIndex } from "../checkout/index-files.ts";
import { REPOSITORY } from "../layout.ts";
import type { BlobChange } from "../repository/tree-changes.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import { checkOutInto } from "../worktree/checked-out-files.ts";
import { indexLines } from "../worktree/work-commit.ts";

const POINTS = {
  index: failpoint("git.update-index"),
  incoming: failpoint("git.create-incoming"),
  metadata: failpoint("git.keep-metadata"),
};
const INDEX = "index";
const INCOMING = "incoming";
const DOT_GIT = /(?:^|\/)(?:\.git|git~1)(?:\/|$)/i;

export interface FollowRequest {
  readonly transaction: Transaction;
  /** The folder of the landing. */
  readonly folder: Folder;
  /** The changes of the branch. */
  readonly tracked: readonly BlobChange[];
  /** Changes of files that stay uncommitted. */
  readonly uncommitted: readonly BlobChange[];
  readonly landings: Landings;
  readonly policy: LandingPolicy;
}

export interface Followed {
  readonly exchange: PreparedCommit | null;
  /** The paths whose files change. */
  readonly files: readonly string[];
}

/**
 * Prepares the checkout to follow the branch, without touching anything of the user's:
 *
 * 1. checks that it can follow;
 * 2. makes the index as it will be;
 * 3. checks the new files out beside the checkout;
 * 4. stages them for the exchange.
 *
 * Fails by `SandboxConflictError` with every path that is in the way.
 */
export async function prepareToFollow(parts: SandboxParts, request: FollowRequest): Promise<Followed> {
  const { folder, tracked, uncommitted } = request;
  assertHarmless([...tracked, ...uncommitted]);
  using original = parts.openOriginal();
  using gitDir = parts.openGitDir();
  // The barrier comes before the look at the files: a later change is younger than it.
  const barrier = takeBarrier(folder);
  copyIndex(gitDir, INDEX, folder, INDEX);
  const { pending, conflicts } = await judgeCheckout(parts, original, { folder, name: INDEX }, request);
  const inTheWay = entriesOf(original, original, pending).conflicts;
  if (conflicts.length + inTheWay.length > 0) throw new SandboxConflictError([...conflicts, ...inTheWay]);
  using incoming = folder.ensureFolder(POINTS.incoming, INCOMING);
  if (tracked.length > 0) await setEntries(parts, folder.label(INDEX), tracked);
  await checkOutNew(parts, request, pending, incoming);
  for (const path of writesOf(pending)) keepMetadata(original, incoming, path);
  const { baseOf, changes, conflicts: late } = entriesOf(original, incoming, pending);
  if (late.length > 0) throw new SandboxConflictError(late);
  for (const { path } of changes.entries) makeFoldersFor(incoming, path);
  const exchange = await request.landings.prepare(request.transaction, {
    original,
    sandbox: incoming,
    isLayer: false,
    leavesOthers: true,
    changes,
    barrier,
    baseOf,
    rules: new LandingRules(request.policy, baseOf, changes.changes),
  });
  return { exchange, files: pending.filter(({ file }) => file).map(({ change }) => change.path) };
}

/** The folder to which a rollback returns the staged files. */
export function openIncoming(folder: Folder): Folder {
  return folder.ensureFolder(POINTS.incoming, INCOMING);
}

/**
 * Git refuses such paths too. But a file that is written into a repository could be a program, so we check
 * ourselves.
 */
export function assertHarmless(changes: readonly BlobChange[]): void {
  const harmful = changes.find(({ path }) => DOT_GIT.test(path));
  if (harmful === undefined) return;
  throw new SandboxCommitError(
    `A commit made in the sandbox holds ${harmful.path}, which would land inside the repository itself.`,
    {
      hint: "A program in the sandbox made it by hand. Check what ran there before you trust the rest.",
      code: "HARMFUL_PATH",
    },
  );
}

async function checkOutNew(
  parts: SandboxParts,
  { folder, uncommitted }: FollowRequest,
  pending: readonly Pending[],
  incoming: Folder,
): Promise<void> {
  const [paths, gitDir] = [writesOf(pending), parts.workspace.label(REPOSITORY)];
  if (uncommitted.length === 0)
    return await checkOutInto(parts.git, { gitDir, index: folder.label(INDEX) }, paths, incoming);
  using index = ScratchIndex.copyOf(folder, INDEX, parts.workspace);
  await setEntries(parts, index.path, uncommitted);
  await checkOutInto(parts.git, { gitDir, index: index.path }, paths, incoming);
}

/** Brings an index to the state after these changes. */
export async function setEntries(
  parts: SandboxParts,
  index: string,
  changes: readonly BlobChange[],
): Promise<void> {
  await parts.git.change(
    POINTS.index,
    parts.onCheckout(index),
    ["update-index", "--replace", "-z", "--index-info"],
    {
      input: indexLines(changes, "after"),
    },
  );
}

/** The entries that the checkout has to change. `incoming` holds the new files. */
function entriesOf(original: Folder, incoming: Folder, pending: readonly Pending[]): CheckoutEntries {
  const gone = pending.filter(({ change, file }) => file && change.after === undefined);
  const request = { writes: writesOf(pending), removes: gone.map(({ change }) => change.path), incoming };
  return new EntryBuilder(original, request).build(request);
}

function writesOf(pending: readonly Pending[]): string[] {
  return pending
    .filter(({ change, file }) => file && change.after !== undefined)
    .map(({ change }) => change.path);
}

/** The exchange takes the times of folders from here. */
function makeFoldersFor(incoming: Folder, path: string): void {
  for (const folder of foldersAbove(path).toReversed()) {
    if (incoming.factsBelow(folder) !== undefined) continue;
    using parent = incoming.openBelow(parentPath(folder));
    parent.ensureFolder(POINTS.incoming, baseName(folder)).close();
  }
}

/**
 * A replaced file keeps its owner, its attributes and its mode, except for the mode bits that the plan
 * changed.
 */
function keepMetadata(original: Folder, incoming: Folder, path: string): void {
  const [old, fresh] = [original.factsBelow(path), incoming.factsBelow(path)];
  if (old?.kind !== "file" || fresh?.kind !== "file") return;
  using oldParent = original.openBelow(parentPath(path));
  using parent = incoming.openBelow(parentPath(path));
  const wanted: Facts = { ...old, mode: modeFor(old, fresh), atime: fresh.atime, mtime: fresh.mtime };
  const name = baseName(path);
  const metadata = { facts: wanted, xattrs: readXattrs(oldParent, name) };
  giveMetadata(POINTS.metadata, { folder: parent, name }, metadata, fresh);
}

function modeFor(old: Facts, fresh: Facts): number {
  const canRun = ({ mode }: Facts) => (mode & 0o100) !== 0;
  if (canRun(old) === canRun(fresh)) return old.mode;
  // Users that may read the file may run it, as with files that git makes.
  return canRun(fresh) ? old.mode | ((old.mode & 0o444) >> 2) : old.mode & ~0o111;
}
