import { baseName, comparePaths, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { SeenFolders } from "../../core/paths/path-stack.ts";
import { type Facts, sameIdentity, sameTime } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import { reserveRoom } from "../../system/data/file-data.ts";
import { failpoint } from "../../system/failpoints.ts";
import { isOnOverlay } from "../../system/mount/file-system.ts";
import type { FolderTime, TreeEntry } from "../changes/change-set.ts";
import type { ChangedFolderTime, EntryIdentity, ManifestEntry } from "../manifest/manifest.ts";
import { metadataOf } from "../tree/metadata.ts";
import { treeSize } from "../tree/walk.ts";
import type { CheckedEntry } from "./checked-entries.ts";
import type { RenamingInput, StagingInput } from "./staging-input.ts";

const BALLAST_POINT = failpoint("stage.ballast");
const DROP_POINT = failpoint("land.ballast");
export const BALLAST = "ballast";

/**
 * The final times of folders: the sandbox's, unless another writer changed the folder in the original
 * meanwhile. Asked for when the folders of the sandbox have their times again.
 */
export function* plannedFolderTimes(
  input: RenamingInput,
  entries: Iterable<CheckedEntry>,
): Generator<ChangedFolderTime> {
  for (const { path, mtime: after } of wantedFolderTimes(input, entries)) {
    const old = input.renames.before(path);
    const base = input.baseOf(old);
    if (base === undefined || base.changedBefore === true) continue;
    using folder = input.original.openBelowIfThere(old);
    const now = folder?.ownFacts();
    if (now !== undefined && sameIdentity(now, base) && sameTime(now.mtime, base.mtime))
      yield { path, before: now.mtime, after };
  }
}

/** The folders with another time in the sandbox, and those whose time the landing moves. */
function* wantedFolderTimes(
  { sandbox, baseOf, changes }: StagingInput,
  entries: Iterable<CheckedEntry>,
): Generator<FolderTime> {
  const seen = new SeenFolders();
  const times = changes.folderTimes[Symbol.iterator]();
  const isSingleFile = baseOf(ROOT_PATH) === undefined;
  let next = times.next().value;
  for (const { entry } of entries) {
    for (; next !== undefined && comparePaths(next.path, entry.path) <= 0; next = times.next().value)
      if (seen.meet(next.path)) yield next;
    const path = parentPath(entry.path);
    if (entry.operation === "metadata" || isSingleFile || !seen.meet(path)) continue;
    using folder = sandbox.openBelow(path);
    yield { path, mtime: folder.ownFacts().mtime };
  }
  for (; next !== undefined; next = times.next().value) yield next;
}

/** The metadata that an entry sets, and the metadata before. */
export function metadataChange(
  input: RenamingInput,
  entry: TreeEntry,
  now: EntryIdentity,
): NonNullable<ManifestEntry["metadata"]> {
  const old = input.renames.before(entry.path);
  using parent = input.original.openBelow(parentPath(old));
  using sandboxParent = input.sandbox.openBelow(parentPath(entry.path));
  const before = metadataOf(parent, baseName(old), now);
  const after = entry.after as Facts;
  return {
    before,
    after: {
      mode: input.rules.mode(entry.path, after),
      uid: after.uid,
      gid: after.gid,
      mtime: after.mtime,
      xattrs: entry.parts?.includes("xattrs")
        ? input.rules.xattrs(entry.path, readXattrs(sandboxParent, baseName(entry.path)))
        : before.xattrs,
    },
    parts: entry.parts ?? [],
  };
}

/** On an overlay, a file of a lower layer is copied when it moves or changes. */
export function roomToCopyUp(original: Folder, entries: Iterable<CheckedEntry>): number {
  if (!isOnOverlay(original)) return 0;
  let bytes = 0;
  for (const { entry, before } of entries) {
    if (before === undefined) continue;
    using parent = original.openBelow(parentPath(entry.path));
    const isWhole = before.kind === "directory" && entry.operation !== "metadata";
    bytes += isWhole ? treeSize(parent, baseName(entry.path)) : before.size;
  }
  return bytes;
}

/**
 * Reserves two blocks for each folder that gets a new name, and this much more, so that a full disk fails
 * here and not during the landing.
 */
export function makeBallast(
  landing: Folder,
  entries: Iterable<{ readonly entry: { readonly path: string } }>,
  more = 0,
): void {
  // An undo that was interrupted before its decision may have left a ballast.
  if (landing.facts(BALLAST) !== undefined) return;
  const seen = new SeenFolders();
  let folders = 0;
  for (const { entry } of entries) if (seen.meet(parentPath(entry.path))) folders += 1;
  const size = 64 * 1024 + folders * 8192 + more;
  const fd = landing.createFile(BALLAST_POINT, BALLAST, 0o600);
  try {
    reserveRoom(BALLAST_POINT, fd, size, landing.label(BALLAST));
  } catch (thrown) {
    dropBallast(landing);
    throw thrown;
  } finally {
    closeFile(fd);
  }
}

/** Frees the reserved room. Returns whether there was any. */
export function dropBallast(landing: Folder): boolean {
  if (landing.facts(BALLAST) === undefined) return false;
  landing.removeFile(DROP_POINT, BALLAST);
  return true;
}
