import { baseName, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { type Facts, type Identity, sameIdentity, sameTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import { runAtOnce } from "../work/pace.ts";
import { type CopiedEntry, copyEntry } from "./copy-tree.ts";
import { moveEntry } from "./move-entry.ts";
import type { NamedEntry } from "./named-entry.ts";
import { type WalkedEntry, walkBelow, walkFrom } from "./walk.ts";

/**
 * On an overlay, like the root of a container, a folder of a lower layer can't be renamed. It is moved entry
 * by entry into its *skeleton*: a copy of its folders without anything in them, which can be renamed.
 *   1. Prepare makes the skeleton, with the metadata of every folder.
 *   2. The files move into it, the deepest first; an emptied folder of the skeleton gets its time, and the
 *      empty one in the original is removed, its root last.
 *   3. The skeleton is renamed to where the folder was to go.
 *
 * A crash in 2 leaves files in both trees: moving the rest finishes it, and a landing that is given up moves
 * those in the skeleton back.
 */
const POINTS = {
  file: failpoint("move.file-of-folder"),
  times: failpoint("move.skeleton-times"),
  remove: failpoint("move.remove-emptied"),
  place: failpoint("move.place-skeleton"),
  back: failpoint("move.back-from-skeleton"),
};
/** How often another writer may put something into a folder that was just emptied. */
const MOST_TRIES = 8;

export interface Skeleton {
  /** The identity of its root, which stands for the folder once it has moved. */
  readonly root: Identity;
  /** The times of its folders, by their paths in it. */
  readonly times: { readonly [path: string]: Time };
  /** The identity of each file, and when it changed, by its path in it: moving them moves that time. */
  readonly files: { readonly [path: string]: Identity & { readonly ctime: Time } };
}

/** Makes the skeleton of a folder. */
export function makeSkeleton(source: NamedEntry, skeleton: NamedEntry): Skeleton {
  const times: { [path: string]: Time } = {};
  const files: { [path: string]: Skeleton["files"][string] } = {};
  const filter = (path: string, { kind, ino, btime, ctime }: Facts) => {
    if (kind !== "directory") files[path] = { ino, btime, ctime };
    return kind === "directory";
  };
  const onCopied = ({ path, original }: CopiedEntry) => {
    times[path] = original.mtime;
  };
  runAtOnce(copyEntry(source, skeleton, { data: "share", filter, onCopied }, ROOT_PATH));
  using made = skeleton.folder.openChild(skeleton.name);
  const { ino, btime } = made.ownFacts();
  return { root: { ino, btime }, times, files };
}

/** A folder that may have to move entry by entry, and its skeleton. */
export interface PartedFolder {
  readonly source: NamedEntry;
  /** The identity of the folder: another one in its place does not move. */
  readonly identity: Identity | undefined;
  /** Where the skeleton is. */
  readonly at: NamedEntry;
  readonly skeleton: Skeleton | undefined;
}

/** Moves an entry to a free name of ours: as one where that is possible, else entry by entry. */
export function moveOut(point: Failpoint, { source, at, skeleton }: PartedFolder, to: NamedEntry): void {
  try {
    moveEntry(point, source, to);
  } catch (thrown) {
    if (skeleton === undefined || !failedWith(thrown, "EXDEV")) throw thrown;
    moveContents(source, at, skeleton.times);
    moveEntry(POINTS.place, at, to);
  }
}

/** Finishes a move by entries that was cut off; or takes it back while the folder is there. */
export function finishMoveOut(
  { source, identity, at, skeleton }: PartedFolder,
  to: NamedEntry,
  goesBack: boolean,
): void {
  if (skeleton === undefined || at.folder.facts(at.name) === undefined) return;
  const now = source.folder.facts(source.name);
  const isLeft = now !== undefined && identity !== undefined && sameIdentity(now, identity);
  if (isLeft && goesBack) {
    // Also if nothing is left to come back: a crash may have come before the times.
    bringBack(at, source, skeleton.times);
    return;
  }
  if (!hasBegun(isLeft ? source : undefined, at, skeleton)) return;
  if (isLeft) moveContents(source, at, skeleton.times);
  moveEntry(POINTS.place, at, to);
}

function hasBegun(source: NamedEntry | undefined, at: NamedEntry, { files }: Skeleton): boolean {
  using original = source?.folder.openChild(source.name);
  for (const { path, facts } of walkFrom(at.folder, at.name)) {
    if (facts.kind !== "directory") return true;
    const inside = path === at.name ? ROOT_PATH : path.slice(at.name.length + 1);
    if (original !== undefined && original.factsBelow(inside)?.kind !== "directory") return true;
  }
  return original === undefined && Object.keys(files).length === 0;
}

/** Moves everything out of a folder, and removes it. */
function moveContents(from: NamedEntry, to: NamedEntry, times: Skeleton["times"]): void {
  for (let tries = 1; ; tries += 1) {
    let notEmpty: unknown;
    for (const { path, target } of movedFolders(POINTS.file, from, to)) {
      restoreTime(target, times[path]);
      notEmpty = whyNotRemoved(from, path);
    }
    // The root comes last, and goes only if all that is in it has gone.
    if (notEmpty === undefined) return;
    if (tries === MOST_TRIES) throw notEmpty;
  }
}

/** Moves everything in a skeleton back. A folder that is gone from the original comes back as one. */
function bringBack(from: NamedEntry, to: NamedEntry, times: Skeleton["times"]): void {
  for (const { path, target } of movedFolders(POINTS.back, from, to)) restoreTime(target, times[path]);
}

/** A folder of two trees, from which everything has moved that was in one of them alone. */
interface MovedFolder {
  readonly path: string;
  readonly target: Folder;
}

/**
 * Moves everything but folders of both trees from one to the other. Yields each folder of both, the deepest
 * first, when all in it has moved. Holds no folder open but the one at hand: the tree may be deep.
 */
function* movedFolders(point: Failpoint, from: NamedEntry, to: NamedEntry): Generator<MovedFolder> {
  using source = from.folder.openChild(from.name);
  using target = to.folder.openChild(to.name);
  const isInBoth = ({ path }: WalkedEntry) => target.factsBelow(path)?.kind === "directory";
  const folders = [ROOT_PATH];
  for (const entry of walkBelow(source, ROOT_PATH, { enters: isInBoth }))
    if (entry.facts.kind === "directory" && isInBoth(entry)) folders.push(entry.path);
  for (const path of folders.reverse()) {
    using folder = source.openBelow(path);
    using other = target.openBelow(path);
    for (const name of folder.names()) {
      const isFolder = folder.facts(name)?.kind === "directory" && other.facts(name)?.kind === "directory";
      if (!isFolder) moveEntry(point, { folder, name }, { folder: other, name });
    }
    yield { path, target: other };
  }
}

function restoreTime(folder: Folder, time: Time | undefined): void {
  if (time !== undefined && !sameTime(time, folder.ownFacts().mtime))
    folder.setTimes(POINTS.times, ROOT_PATH, { mtime: time });
}

/** Removes an emptied folder. Returns the failure if another writer has put something into it. */
function whyNotRemoved({ folder, name }: NamedEntry, path: string): unknown {
  const full = path === ROOT_PATH ? name : joinPath(name, path);
  using parent = folder.openBelow(parentPath(full));
  try {
    parent.removeFolder(POINTS.remove, baseName(full));
    return undefined;
  } catch (thrown) {
    if (!failedWith(thrown, "ENOTEMPTY", "EEXIST")) throw thrown;
    return thrown;
  }
}
