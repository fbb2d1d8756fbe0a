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
 * Holding git's own locks across crashes: for a file F of a repository the lock is `F.lock`, and who wants to
 * change F makes that first, without replacing one that is there. While ours are there nobody moves the
 * branch, HEAD or the index.
 *
 * Ours is known by its inode, which is recorded before it is a lock: it is made under another name in the git
 * directory, recorded by the caller, and then moved to its place. So after a crash only our own are removed,
 * and what is somebody else's is never taken for ours.
 *
 * The lock is filled with what F is to become while things can still fail. To change F it is moved over F, as
 * git does it: one instant, and the lock is gone.
 */
export interface GitLock {
  /** What it is for: "index", "HEAD" or the name of a branch. */
  readonly file: string;
  /** The absolute path of what is locked. */
  readonly target: string;
  /** The name under which the lock is made, in the git directory. */
  readonly made: string;
  readonly identity: Identity;
}

const POINTS = {
  make: failpoint("git-lock.make"),
  folder: failpoint("git-lock.create-folder"),
  take: failpoint("git-lock.take"),
  fill: failpoint("git-lock.fill"),
  move: failpoint("git-lock.move"),
  release: failpoint("git-lock.release"),
};
const PATIENCE_MS = 2000;
const LOOK_AGAIN_MS = 50;
const DEFAULT_MODE = 0o666;
const MOST_LOCKS = 3;

/** The files that a landing changes, in the order in which git locks them. */
function filesToLock(
  checkout: Checkout,
  ref: string,
): readonly { readonly file: string; readonly target: string }[] {
  const head = { file: "HEAD", target: `${checkout.gitDir}/HEAD` };
  const index = { file: "index", target: `${checkout.gitDir}/index` };
  return ref === "HEAD"
    ? [index, head]
    : [index, head, { file: ref, target: `${checkout.commonDir}/${ref}` }];
}

/** Makes the files that become locks. What an earlier try left is removed. */
export function makeLocks(checkout: Checkout, ref: string, id: string): readonly GitLock[] {
  return filesToLock(checkout, ref).map(({ file, target }, at) => {
    const made = `${checkout.commonDir}/drydock-${id}-${at}`;
    using folder = Folder.open(checkout.commonDir);
    removeIf(folder, baseName(made), () => true);
    closeFile(folder.createFile(POINTS.make, baseName(made), 0o600));
    likeTarget(folder, baseName(made), target);
    return { file, target, made, identity: identityOf(folder.facts(baseName(made)) as Facts) };
  });
}

/** Removes what `makeLocks` made and nobody recorded. */
export function removeUnrecorded({ commonDir }: Checkout, id: string): void {
  using folder = openIfThere(commonDir);
  for (let at = 0; folder !== undefined && at < MOST_LOCKS; at += 1)
    removeIf(folder, `drydock-${id}-${at}`, () => true);
}

/** Takes the locks. Waits for somebody else's, but not for long. */
export async function takeLocks(locks: readonly GitLock[]): Promise<void> {
  const patience = Date.now() + PATIENCE_MS;
  for (const lock of locks) {
    while (!tryToTake(lock)) {
      if (Date.now() > patience) throw busy(lock);
      await sleep(LOOK_AGAIN_MS);
    }
  }
}

/** Whether a lock is in its place, and ours. */
export function isHeld({ target, identity }: GitLock): boolean {
  return isOurs(`${target}.lock`, identity);
}

/** Whether what is locked is what we made of it, and the lock used up by that. */
export function isMoved({ target, identity }: GitLock): boolean {
  return isOurs(target, identity);
}

/**
 * Fills a lock of ours with what the file it locks is to hold. What it held of the same length is written
 * over, which takes no room on the disk.
 */
export function fillLock({ target }: GitLock, bytes: Uint8Array): void {
  using folder = Folder.open(parentPath(target));
  const name = `${baseName(target)}.lock`;
  const fd = openToEdit(POINTS.fill, folder, name);
  try {
    writeAt(POINTS.fill, fd, 0, bytes, folder.label(name));
    if (folder.facts(name)?.size !== bytes.length)
      resizeFile(POINTS.fill, fd, bytes.length, folder.label(name));
  } finally {
    closeFile(fd);
  }
}

/** Moves a lock of ours over what it locks. The time, if one is given, is what the file is to have. */
export function moveLock({ target }: GitLock, mtime?: Facts["mtime"]): void {
  using folder = Folder.open(parentPath(target));
  const [name, lockName] = [baseName(target), `${baseName(target)}.lock`];
  if (mtime !== undefined) folder.setTimes(POINTS.fill, lockName, { mtime });
  folder.replace(POINTS.move, lockName, folder, name);
}

/** Removes what is ours, in its place or not yet there. */
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

/** A branch that is only among the packed refs has no folder. */
function openMaking(path: string): Folder {
  const existing = openIfThere(path);
  if (existing !== undefined) return existing;
  using parent = openMaking(parentPath(path));
  const folder = parent.ensureFolder(POINTS.folder, baseName(path));
  folder.setMode(POINTS.folder, ROOT_PATH, parent.ownFacts().mode);
  return folder;
}

/** A repository may be shared: what takes the place of a file is for the same people. */
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
