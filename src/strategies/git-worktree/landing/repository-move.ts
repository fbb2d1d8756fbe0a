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

/** Fills the locks with what they are to become, so that moving them is all that is left to do. */
export function fillLocks(landing: GitLanding, folder: Folder): void {
  const [index, head, branch] = landing.locks;
  const bytes = readWhole(folder, INDEX);
  if (index !== undefined && landing.changes.length > 0 && bytes !== undefined) fillLock(index, bytes);
  const moving = branch ?? head;
  if (moving !== undefined && landing.from !== landing.to) fillLock(moving, Buffer.from(`${landing.to}\n`));
}

/**
 * Sees that they are on disk, together with what `flushOurs` flushes; on the same file system one flush is
 * enough for both.
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
 * Moves the user's repository to where a landing takes it, once the files are there: the index, the logs, the
 * branch, and the locks are gone. Each is done by moving a lock over what it locks, so what is done is seen
 * from the locks, and all of it can be run again.
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

/** Files of a repository, and the folders that they are in. */
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
  if (!isHeld(lock)) return [stolen("the index", "it may not show what landed: look at 'git status'")];
  await refresh(parts, landing, folder);
  const facts = folder.facts(INDEX);
  const refreshed = facts === undefined ? undefined : readWhole(folder, INDEX);
  if (refreshed !== undefined) fillLock(lock, refreshed);
  moveLock(lock, facts?.mtime);
  return [];
}

/**
 * Lets the index know the new files, so that git need not read them again. An index that does not know them
 * is right all the same: so what keeps git from it here, where there is no way back, does not count.
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
    return [stolen(branchName(ref), `what landed is in ${to.slice(0, 12)}: merge that`)];
  }
  if (ref !== "HEAD") appendToLog(checkout.commonDir, ref, log, logs);
  appendToLog(checkout.gitDir, "HEAD", log, logs);
  moveLock(lock);
  return [];
}

/** What a branch's own file says; undefined if it is only among the packed refs. */
function refValue({ gitDir, commonDir }: Checkout, ref: string): string | undefined {
  using folder = Folder.open(parentPath(`${ref === "HEAD" ? gitDir : commonDir}/${ref}`));
  const bytes = readWhole(folder, ref.slice(ref.lastIndexOf("/") + 1));
  return bytes === undefined ? undefined : pathFromBytes(bytes).trim();
}

function stolen(what: string, then: string): Attention {
  return {
    path: ".",
    message: `somebody took away the lock on ${displayPath(what)} while the plan was landing; ${then}`,
  };
}
