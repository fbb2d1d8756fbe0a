import { GitError } from "../../../core/errors/errors.ts";
import { baseName, displayPath, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import type { Attention } from "../../../core/strategy.ts";
import { unlessFailed } from "../../../system/calls/errno.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { type FlushTarget, flush } from "../../../system/data/flush.ts";
import { readWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { branchName, type Checkout } from "../checkout/checkout.ts";
import { PACKED_REFS, readRef, targetOf } from "../repository/ref-files.ts";
import { appendToLog, replaceLog } from "../repository/ref-log.ts";
import { nulTerminated } from "../repository/store-tree.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import {
  fillLock,
  type GitLock,
  isHeld,
  isMoved,
  lockOf,
  moveLock,
  releaseLocks,
  removeLocked,
} from "./git-locks.ts";
import type { LogMove, RefMove, RepositoryMove } from "./ref-moves.ts";

const POINTS = {
  refresh: failpoint("git.refresh-index"),
  flush: failpoint("git.flush"),
  flushLocks: failpoint("git.flush-locks"),
};
const INDEX = "index";

/** Fills the locks with the future content, so that only renames remain. */
export function fillLocks(move: RepositoryMove, folder: Folder): void {
  const fill = (file: string, bytes: Uint8Array | undefined) => {
    const lock = lockOf(move.locks, file);
    if (lock !== undefined && bytes !== undefined) fillLock(lock, bytes);
  };
  if (move.changes.length > 0) fill(INDEX, readWhole(folder, INDEX));
  if (move.packs === true) fill(PACKED_REFS, readWhole(folder, PACKED_REFS));
  for (const { ref, from, to } of move.moves)
    if (to !== undefined && to !== from) fill(ref, Buffer.from(`${to}\n`));
}

/**
 * Flushes the locks together with what `flushOurs` flushes. One flush is enough where both are on the same
 * file system.
 */
export async function flushLocks<T>(
  parts: SandboxParts,
  { locks }: RepositoryMove,
  flushOurs: (theirs: () => Iterable<FlushTarget>) => Promise<T>,
): Promise<T> {
  using gitDir = parts.openGitDir();
  const targets = () =>
    targetsOf(
      gitDir,
      locks.map(({ target }) => `${target}.lock`),
    );
  const isApart = gitDir.ownFacts().device !== parts.workspace.ownFacts().device;
  if (isApart) await flush(POINTS.flushLocks, gitDir, targets);
  return await flushOurs(isApart ? () => [] : targets);
}

/**
 * Moves the user's repository to its new state, when the files are in place: the index, the logs, the refs;
 * then the locks are gone. Index and refs change by the rename of a lock, so the locks tell which steps are
 * done, and a second run repeats none.
 */
export async function moveRepository(
  parts: SandboxParts,
  move: RepositoryMove,
  folder: Folder,
): Promise<Attention[]> {
  const attention = [
    ...(await moveIndex(parts, move, folder)),
    ...movePacked(move),
    ...move.moves.flatMap((each) => moveRef(parts.checkout, each, lockOf(move.locks, each.ref))),
  ];
  releaseLocks(move.locks);
  using gitDir = parts.openGitDir();
  await flush(POINTS.flush, gitDir, () =>
    targetsOf(
      gitDir,
      move.locks.map(({ target }) => target),
    ),
  );
  return attention;
}

/** Whether a move has changed anything yet. */
export function hasBegun({ checkout }: SandboxParts, { moves, locks }: RepositoryMove): boolean {
  const isGone = ({ ref, from, to }: RefMove) =>
    from !== undefined && to === undefined && contentOf(checkout, ref) === undefined;
  return locks.some(isMoved) || moves.some(isGone);
}

/** The content of a ref, or of HEAD, in the user's repository. */
export function contentOf({ gitDir, commonDir }: Checkout, ref: string): string | undefined {
  using folder = Folder.open(ref === "HEAD" ? gitDir : commonDir);
  return readRef(folder, ref);
}

/** Files of a repository, each with its folder. */
function* targetsOf(gitDir: Folder, paths: readonly string[]): Generator<FlushTarget> {
  for (const path of paths) {
    // Git removes the folder of the last ref that goes.
    using parent = unlessFailed(["ENOENT"], () => Folder.open(parentPath(path)));
    if (parent === undefined) continue;
    yield { parent, name: baseName(path) };
    yield { parent, name: ROOT_PATH };
  }
  yield { parent: gitDir, name: ROOT_PATH };
}

async function moveIndex(parts: SandboxParts, move: RepositoryMove, folder: Folder): Promise<Attention[]> {
  const lock = lockOf(move.locks, INDEX);
  if (move.changes.length === 0 || lock === undefined || isMoved(lock)) return [];
  if (!isHeld(lock)) return [lockRemoved("the index", "it may not show what landed: look at 'git status'")];
  await refresh(parts, move, folder);
  const facts = folder.facts(INDEX);
  const refreshed = facts === undefined ? undefined : readWhole(folder, INDEX);
  if (refreshed !== undefined) fillLock(lock, refreshed);
  moveLock(lock, facts?.mtime);
  return [];
}

/**
 * Adds the times of the new files to the index, so that git need not read them again. An index without them
 * is correct too, so a failure of git, which can't be undone here, is ignored.
 */
async function refresh(parts: SandboxParts, move: RepositoryMove, folder: Folder): Promise<void> {
  const inIndex = new Set(move.changes.filter(({ after }) => after !== undefined).map(({ path }) => path));
  const paths = move.files.filter((path) => inIndex.has(path));
  if (paths.length === 0) return;
  const args = ["add", "--refresh", "--pathspec-from-file=-", "--pathspec-file-nul"];
  try {
    await parts.git.change(POINTS.refresh, parts.theirs(folder.label(INDEX)), args, {
      input: nulTerminated(paths),
    });
  } catch (thrown) {
    if (!(thrown instanceof GitError)) throw thrown;
  }
}

/** A ref that goes must go from the packed refs first: else its value there would count again. */
function movePacked({ packs, locks }: RepositoryMove): Attention[] {
  const lock = lockOf(locks, PACKED_REFS);
  if (packs !== true || lock === undefined || isMoved(lock)) return [];
  if (!isHeld(lock)) return [lockRemoved(PACKED_REFS, "refs may be there that the plan deleted")];
  moveLock(lock);
  return [];
}

function moveRef(checkout: Checkout, move: RefMove, lock: GitLock | undefined): Attention[] {
  const { ref, from, to, log } = move;
  const isSame = from === to;
  if (lock === undefined || (!isSame && isMoved(lock))) return [];
  if (!isHeld(lock)) {
    if (isSame || contentOf(checkout, ref) === to) return [];
    const then = to === undefined ? "it is still there" : `what landed is in ${shortened(to)}: merge that`;
    return [lockRemoved(branchName(ref), then)];
  }
  if (log !== undefined) changeLog(ref === "HEAD" ? checkout.gitDir : checkout.commonDir, ref, log);
  if (to === undefined) removeLocked(lock);
  else if (!isSame) moveLock(lock);
  return [];
}

function changeLog(gitDir: string, ref: string, log: LogMove): void {
  if ("lines" in log) appendToLog(gitDir, ref, log.lines, log.isWanted);
  else replaceLog(gitDir, ref, log.after);
}

function shortened(value: string): string {
  return targetOf(value) ?? value.slice(0, 12);
}

function lockRemoved(what: string, then: string): Attention {
  return {
    path: ".",
    message: `another process removed the lock on ${displayPath(what)} while the plan was landing; ${then}`,
  };
}
