import { setTimeout as sleep } from "node:timers/promises";
import { BusyError } from "../../../core/errors/errors.ts";
import { baseName, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import { failedWith, unlessFailed } from "../../../system/calls/errno.ts";
import { type Facts, type Identity, identityOf, sameIdentity } from "../../../system/calls/facts.ts";
import { Folder } from "../../../system/calls/folder.ts";
import { closeFile } from "../../../system/calls/handles.ts";
import { openToEdit, resizeFile, writeAt } from "../../../system/data/file-editing.ts";
import { type Failpoint, failpoint } from "../../../system/failpoints.ts";
import type { Checkout } from "../checkout/checkout.ts";

/**
 * Git's own locks, held across crashes. The lock of a file F of a repository is `F.lock`: a program that
 * changes F creates the lock first, and fails if it exists. While ours exist, no other program moves the
 * branch, HEAD or the index.
 *
 * The order of writes:
 *
 * 1. Create a file under another name in the git directory.
 * 2. The caller records its inode, durably.
 * 3. Rename the file to `F.lock`, unless there is one. Now the lock is ours.
 * 4. Fill it with the future content of F. All of this may fail.
 * 5. To change F, rename the lock over F, as git does: in one instant F is changed and the lock is gone.
 *
 * After a crash the recorded inode tells our locks from those of others, and only ours are removed.
 */
export interface GitLock {
  /** The locked file, for people: "index", "HEAD", "packed-refs" or the name of a ref. */
  readonly file: string;
  /** The absolute path of the locked file. */
  readonly target: string;
  /** The path in the git directory under which the file is created that becomes the lock. */
  readonly made: string;
  readonly identity: Identity;
}

const POINTS = {
  make: failpoint("git-lock.make"),
  folder: failpoint("git-lock.create-folder"),
  take: failpoint("git-lock.take"),
  fill: failpoint("git-lock.fill"),
  move: failpoint("git-lock.move"),
  remove: failpoint("git-lock.remove-ref"),
  release: failpoint("git-lock.release"),
};
const PATIENCE_MS = 2000;
const LOOK_AGAIN_MS = 50;
const DEFAULT_MODE = 0o666;
/** The files that a landing changes, in the order in which git locks them. */
function filesToLock(
  checkout: Checkout,
  refs: readonly string[],
): readonly { readonly file: string; readonly target: string }[] {
  const head = { file: "HEAD", target: `${checkout.gitDir}/HEAD` };
  const index = { file: "index", target: `${checkout.gitDir}/index` };
  const others = refs.filter((ref) => ref !== "HEAD");
  return [index, head, ...others.map((ref) => ({ file: ref, target: `${checkout.commonDir}/${ref}` }))];
}

/**
 * Creates the files that become the locks of the index, of HEAD and of these refs. Removes those of an
 * earlier try first.
 */
export function makeLocks(checkout: Checkout, refs: readonly string[], id: string): readonly GitLock[] {
  return filesToLock(checkout, refs).map(({ file, target }, at) => {
    const made = `${checkout.commonDir}/drydock-${id}-${at}`;
    using folder = Folder.open(checkout.commonDir);
    removeIf(folder, baseName(made), () => true);
    closeFile(folder.createFile(POINTS.make, baseName(made), 0o600));
    likeTarget(folder, baseName(made), target);
    return { file, target, made, identity: identityOf(folder.facts(baseName(made)) as Facts) };
  });
}

/** Removes files of `makeLocks` that no record names. */
export function removeUnrecorded({ commonDir }: Checkout, id: string): void {
  using folder = openIfThere(commonDir);
  for (const name of folder?.names() ?? [])
    if (folder !== undefined && name.startsWith(`drydock-${id}-`)) removeIf(folder, name, () => true);
}

/** The lock of a file. */
export function lockOf(locks: readonly GitLock[], file: string): GitLock | undefined {
  return locks.find((lock) => lock.file === file);
}

/** Takes the locks. Waits a short time for another process to release its own. */
export async function takeLocks(locks: readonly GitLock[]): Promise<void> {
  const patience = Date.now() + PATIENCE_MS;
  for (const lock of locks) {
    while (!tryToTake(lock)) {
      if (Date.now() > patience) throw busy(lock);
      await sleep(LOOK_AGAIN_MS);
    }
  }
}

/** Whether the lock is in its place and ours. */
export function isHeld({ target, identity }: GitLock): boolean {
  return isOurs(`${target}.lock`, identity);
}

/** Whether our lock has been renamed over the file that it locked. */
export function isMoved({ target, identity }: GitLock): boolean {
  return isOurs(target, identity);
}

/**
 * Writes the future content of the locked file into our lock. Overwrites earlier content of the same length
 * in place, which needs no room on the disk.
 */
export function fillLock({ target }: GitLock, bytes: Uint8Array): void {
  using folder = Folder.open(parentPath(target));
  const name = `${baseName(target)}.lock`;
  const fd = openToEdit(POINTS.fill, folder, name);
  try {
    writeAt(POINTS.fill, { fd, label: folder.label(name) }, 0, bytes);
    if (folder.facts(name)?.size !== bytes.length)
      resizeFile(POINTS.fill, fd, bytes.length, folder.label(name));
  } finally {
    closeFile(fd);
  }
}

/** Removes the locked file, a ref that has one of its own. The lock stays. */
export function removeLocked({ target }: GitLock): void {
  using folder = openIfThere(parentPath(target));
  if (folder?.facts(baseName(target))?.kind === "file") folder.removeFile(POINTS.remove, baseName(target));
}

/** Renames our lock over the locked file, which gets this time if one is given. */
export function moveLock({ target }: GitLock, mtime?: Facts["mtime"]): void {
  using folder = Folder.open(parentPath(target));
  const [name, lockName] = [baseName(target), `${baseName(target)}.lock`];
  if (mtime !== undefined) folder.setTimes(POINTS.fill, lockName, { mtime });
  folder.replace(POINTS.move, lockName, folder, name);
}

/** Removes our locks, and files that did not become locks yet. */
export function releaseLocks(locks: readonly GitLock[]): void {
  for (const { target, made, identity } of locks.toReversed())
    for (const path of [`${target}.lock`, made]) {
      using folder = openIfThere(parentPath(path));
      if (folder !== undefined) removeIf(folder, baseName(path), (facts) => sameIdentity(facts, identity));
    }
}

function tryToTake({ target, made, identity }: GitLock): boolean {
  if (isOurs(`${target}.lock`, identity)) return true;
  using from = Folder.open(parentPath(made));
  using to = openMaking(parentPath(target));
  try {
    from.move(POINTS.take, baseName(made), to, `${baseName(target)}.lock`);
    return true;
  } catch (thrown) {
    if (failedWith(thrown, "EEXIST")) return false;
    throw thrown;
  }
}

/** The folder may be missing: a branch that is only among the packed refs has none. */
function openMaking(path: string): Folder {
  const existing = openIfThere(path);
  if (existing !== undefined) return existing;
  using parent = openMaking(parentPath(path));
  const folder = parent.ensureFolder(POINTS.folder, baseName(path));
  folder.setMode(POINTS.folder, ROOT_PATH, parent.ownFacts().mode);
  return folder;
}

/**
 * Users of a shared repository keep their access: the new file gets the mode and owner of the one that it
 * replaces.
 */
function likeTarget(folder: Folder, name: string, target: string): void {
  using parent = openIfThere(parentPath(target));
  const facts = parent?.facts(baseName(target));
  if (facts !== undefined && process.geteuid?.() === 0)
    folder.setOwner(POINTS.make, name, facts.uid, facts.gid);
  folder.setMode(POINTS.make, name, facts?.mode ?? DEFAULT_MODE & ~process.umask());
}

function isOurs(path: string, identity: Identity): boolean {
  using folder = openIfThere(parentPath(path));
  const facts = folder?.facts(baseName(path));
  return facts !== undefined && sameIdentity(facts, identity);
}

function removeIf(
  folder: Folder,
  name: string,
  isRight: (facts: Facts) => boolean,
  point: Failpoint = POINTS.release,
): void {
  const facts = folder.facts(name);
  if (facts !== undefined && isRight(facts)) folder.removeFile(point, name);
}

function openIfThere(path: string): Folder | undefined {
  return unlessFailed(["ENOENT", "ENOTDIR"], () => Folder.open(path));
}

function busy({ target, file }: GitLock): BusyError {
  return new BusyError(
    `A git process is changing ${file === "index" ? "the index" : file}: ${target}.lock is there.`,
    {
      holder: "git",
      hint: `Wait for it to finish and try again. If no git process is running, a crash left it: remove ${target}.lock.`,
    },
  );
}
