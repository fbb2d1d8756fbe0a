import { GitError } from "../../../core/errors/errors.ts";
import {
  baseName,
  displayPath,
  parentPath,
  pathFromBytes,
  ROOT_PATH,
} from "../../../core/paths/byte-path.ts";
import type { Attention } from "../../../core/strategy.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { type FlushTarget, flush } from "../../../system/data/flush.ts";
import { readWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { branchName, type Checkout } from "../checkout/checkout.ts";
import { appendToLog } from "../repository/ref-log.ts";
import { nulTerminated } from "../repository/store-tree.ts";
import type { SandboxParts } from "../sandbox-parts.ts";
import { fillLock, type GitLock, isHeld, isMoved, moveLock, releaseLocks } from "./git-locks.ts";
import type { GitLanding } from "./landing-record.ts";

const POINTS = {
  refresh: failpoint("git.refresh-index"),
  flush: failpoint("git.flush"),
  flushLocks: failpoint("git.flush-locks"),
};
const INDEX = "index";

/** Fills the locks with the future content, so that only renames remain. */
export function fillLocks(landing: GitLanding, folder: Folder): void {
  const [index, head, branch] = landing.locks;
  const bytes = readWhole(folder, INDEX);
  if (index !== undefined && landing.changes.length > 0 && bytes !== undefined) fillLock(index, bytes);
  const moving = branch ?? head;
  if (moving !== undefined && landing.from !== landing.to) fillLock(moving, Buffer.from(`${landing.to}\n`));
}

/**
 * Flushes the locks together with what `flushOurs` flushes. One flush is enough where both are on the same
 * file system.
 */
export async function flushLocks<T>(
  parts: SandboxParts,
  { locks }: GitLanding,
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
 * Moves the user's repository to its new state, when the files are in place: the index, the logs, the branch;
 * then the locks are gone. Index and branch change by the rename of a lock, so the locks tell which steps are
 * done, and a second run repeats none.
 */
export async function moveRepository(
  parts: SandboxParts,
  landing: GitLanding,
  folder: Folder,
): Promise<Attention[]> {
  const { checkout } = parts;
  const [index, head, branch] = landing.locks;
  if (index === undefined || head === undefined) return [];
  const attention = [
    ...(await moveIndex(parts, landing, folder, index)),
    ...moveBranch(checkout, landing, branch ?? head),
  ];
  releaseLocks(landing.locks);
  using gitDir = parts.openGitDir();
  await flush(POINTS.flush, gitDir, () =>
    targetsOf(
      gitDir,
      landing.locks.map(({ target }) => target),
    ),
  );
  return attention;
}

/** Files of a repository, each with its folder. */
function* targetsOf(gitDir: Folder, paths: readonly string[]): Generator<FlushTarget> {
  for (const path of paths) {
    using parent = Folder.open(parentPath(path));
    yield { parent, name: baseName(path) };
    yield { parent, name: ROOT_PATH };
  }
  yield { parent: gitDir, name: ROOT_PATH };
}

async function moveIndex(
  parts: SandboxParts,
  landing: GitLanding,
  folder: Folder,
  lock: GitLock,
): Promise<Attention[]> {
  if (landing.changes.length === 0 || isMoved(lock)) return [];
  if (!isHeld(lock)) return [lockRemoved("the index", "it may not show what landed: look at 'git status'")];
  await refresh(parts, landing, folder);
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
async function refresh(parts: SandboxParts, landing: GitLanding, folder: Folder): Promise<void> {
  const inIndex = new Set(landing.changes.filter(({ after }) => after !== undefined).map(({ path }) => path));
  const paths = landing.files.filter((path) => inIndex.has(path));
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

function moveBranch(checkout: Checkout, landing: GitLanding, lock: GitLock): Attention[] {
  const { ref, from, to, log, logs } = landing;
  if (from === to || isMoved(lock)) return [];
  if (!isHeld(lock)) {
    const now = refValue(checkout, ref);
    if (now === to) return [];
    return [lockRemoved(branchName(ref), `what landed is in ${to.slice(0, 12)}: merge that`)];
  }
  if (ref !== "HEAD") appendToLog(checkout.commonDir, ref, log, logs);
  appendToLog(checkout.gitDir, "HEAD", log, logs);
  moveLock(lock);
  return [];
}

/** The content of a branch's own file; undefined if the branch is only among the packed refs. */
function refValue({ gitDir, commonDir }: Checkout, ref: string): string | undefined {
  using folder = Folder.open(parentPath(`${ref === "HEAD" ? gitDir : commonDir}/${ref}`));
  const bytes = readWhole(folder, ref.slice(ref.lastIndexOf("/") + 1));
  return bytes === undefined ? undefined : pathFromBytes(bytes).trim();
}

function lockRemoved(what: string, then: string): Attention {
  return {
    path: ".",
    message: `another process removed the lock on ${displayPath(what)} while the plan was landing; ${then}`,
  };
}
