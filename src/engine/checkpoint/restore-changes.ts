import { SandboxConflictError } from "../../core/errors/errors.ts";
import { baseName, comparePaths, nearest, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type Facts, identityKey, sameIdentity } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { type BaseFacts, NO_TIME } from "../base/base-facts.ts";
import type { Baseline } from "../base/baseline.ts";
import type { ChangeSet } from "../changes/change-set.ts";
import { copyEntries, type LinkMap, linkKey } from "../tree/copy-tree.ts";
import { type Metadata, type MetadataPart, sameParts, setMetadata } from "../tree/metadata.ts";
import { removeTree } from "../tree/remove-tree.ts";
import type { Steps } from "../work/pace.ts";
import { lostPaths, namesOfInodes, planRestore, type RestorePlan } from "./restore-plan.ts";
import { metadataAt, pathsToCopy, type SavedChanges } from "./saved-changes.ts";
import { assertNoneWritten } from "./written-files.ts";

const POINTS = {
  remove: failpoint("restore.remove"),
  link: failpoint("restore.link"),
  unlock: failpoint("restore.unlock"),
};
const PARTS: readonly MetadataPart[] = ["owner", "xattrs", "mode", "mtime"];
const OWNER_ALL = 0o700;

/** A copied tree that is being restored. */
export interface RestoredTree {
  readonly own: Folder;
  readonly original: Folder;
  readonly baseline: Baseline;
  /** The current difference from the baseline. */
  readonly now: ChangeSet;
  readonly saved: SavedChanges;
  /** Whether only one file of the folder counts. The folder itself is then not ours. */
  readonly isSingleFile: boolean;
  /** Whether commands stand still in the tree, and go on with it afterwards. */
  readonly isHeld: boolean;
  readonly isOriginalUnchanged: (path: string, base: BaseFacts) => boolean;
}

/**
 * Refuses a restore that could not be exact: entries that come from the original must still be unchanged
 * there. Also refuses one that takes a file away from a command that writes to it.
 */
export function assertRestorable(tree: RestoredTree): RestorePlan {
  const plan = planRestore(tree.now, tree.own, tree.saved, tree.baseline);
  const lost = lostPaths(plan, tree.baseline, tree.isOriginalUnchanged);
  if (tree.isHeld) assertNoneWritten(tree.own, removedPaths(plan));
  if (lost.length === 0) return plan;
  throw new SandboxConflictError(lost, {
    message: `The checkpoint can't be restored: ${lost[0]?.path} and ${lost.length - 1} more paths changed in the original meanwhile.`,
    hint: "A checkpoint holds what differed from the original. Bring these paths of the original back, or go on without it.",
  });
}

/**
 * Restores the tree. May be repeated after a crash in the middle. The order:
 * 1. Remove what the checkpoint does not have.
 * 2. Copy entries from the original.
 * 3. Copy entries from the checkpoint.
 * 4. Set the modes and times of folders, because every earlier step changes them.
 *
 * Records in the baseline which entries are other files now; the caller saves it.
 */
export function* restoreChanges(tree: RestoredTree, copies: Folder): Steps {
  const plan = assertRestorable(tree);
  const { own, original, saved } = tree;
  unlock(own, plan.folders);
  for (const path of removedPaths(plan)) remove(own, path);
  const returned = new Set(plan.fromOriginal);
  const tops = plan.fromOriginal.filter((path) => !returned.has(parentPath(path)));
  yield* copyEntries(original, own, tops, {
    data: "share",
    filter: (path) => returned.has(path),
    links: keptNames(tree, plan),
    onCopied: ({ path, original: facts }) => assertSameBase(tree, path, facts),
  });
  unlock(own, plan.folders);
  const links = untouchedNames(tree, copies, plan);
  yield* copyEntries(copies, own, pathsToCopy({ entries: plan.applies }), { data: "share", links });
  relink(own, saved.links);
  giveMetadataBack(tree, plan);
  noteOtherFiles(tree, plan);
}

/** The paths at which something else comes, or nothing. */
function removedPaths({ reverts, applies }: RestorePlan): string[] {
  return [...reverts, ...applies].filter(({ operation }) => operation !== "metadata").map(({ path }) => path);
}

/** Without privilege, we can't work in a folder that refuses its owner. */
function unlock(own: Folder, folders: Iterable<string>): void {
  if (process.geteuid?.() === 0) return;
  for (const path of folders) {
    using folder = own.openBelowIfThere(path);
    const mode = folder?.ownFacts().mode ?? OWNER_ALL;
    if ((mode & OWNER_ALL) !== OWNER_ALL) folder?.setMode(POINTS.unlock, ROOT_PATH, mode | OWNER_ALL);
  }
}

function remove(own: Folder, path: string): void {
  using parent = own.openBelowIfThere(parentPath(path));
  if (parent !== undefined) removeTree(POINTS.remove, parent, baseName(path));
}

/** For files that come from the original: another, unchanged name that has to share the file with them. */
function keptNames(
  { own, original, baseline, now }: RestoredTree,
  { fromOriginal, applies }: RestorePlan,
): LinkMap {
  const names = namesOfInodes(baseline, linkedInodes(baseline, fromOriginal));
  const changed = new Set(
    Iterator.from(now.changes)
      .filter(({ parts }) => parts === undefined)
      .map(({ path }) => path),
  );
  const applied = new Set(
    applies.filter(({ operation }) => operation !== "metadata").map(({ path }) => path),
  );
  const links: LinkMap = new Map();
  const isKept = (name: string) =>
    !changed.has(name) && nearest(applied, name) === undefined && own.factsBelow(name) !== undefined;
  for (const group of names.values()) {
    const kept = group.find(isKept);
    const source = group.map((name) => original.factsBelow(name)).find((facts) => facts !== undefined);
    if (kept !== undefined && source !== undefined) links.set(linkKey(source), kept);
  }
  return links;
}

/**
 * For files that come from the checkpoint: another name, untouched since. A moved folder may have separated
 * them.
 */
function untouchedNames({ own, saved }: RestoredTree, copies: Folder, { applies }: RestorePlan): LinkMap {
  const applied = new Set(pathsToCopy({ entries: applies }));
  const links: LinkMap = new Map();
  for (const path of saved.linked) {
    const copy = nearest(applied, path) === undefined ? copies.factsBelow(path) : undefined;
    if (copy !== undefined && own.factsBelow(path) !== undefined) links.set(linkKey(copy), path);
  }
  return links;
}

/** Another writer may have changed the entry since the check. */
function assertSameBase({ baseline, isOriginalUnchanged }: RestoredTree, path: string, facts: Facts): void {
  const index = baseline.find(path);
  const base = index === undefined ? undefined : baseline.facts(index);
  if (base !== undefined && sameIdentity(facts, base) && isOriginalUnchanged(path, base)) return;
  throw new SandboxConflictError([{ path, why: "changed in the original while it was brought back" }]);
}

/**
 * Links names again that shared a file with a name that stayed in the tree. Either may have moved with a
 * folder while untouched itself.
 */
function relink(own: Folder, links: SavedChanges["links"]): void {
  for (const [path, other] of links) {
    const [now, wanted] = [own.factsBelow(path), own.factsBelow(other)];
    if (now === undefined || wanted === undefined || now.ino === wanted.ino) continue;
    using parent = own.openBelow(parentPath(path));
    using folder = own.openBelow(parentPath(other));
    const { mtime, mode } = parent.ownFacts();
    unlock(own, [parentPath(path)]);
    parent.removeFile(POINTS.link, baseName(path));
    parent.createHardLink(POINTS.link, baseName(path), folder, baseName(other));
    if (parent.ownFacts().mode !== mode) parent.setMode(POINTS.unlock, ROOT_PATH, mode);
    parent.setTimes(POINTS.link, ROOT_PATH, { mtime });
  }
}

function giveMetadataBack(
  tree: RestoredTree,
  { reverts, fromOriginal, applies, folders }: RestorePlan,
): void {
  const { saved } = tree;
  const changed = new Map(
    saved.entries.flatMap(({ path, metadata }) => (metadata ? [[path, metadata] as const] : [])),
  );
  const times = new Map(saved.folderTimes.map(({ path, mtime }) => [path, mtime]));
  const metadata = [...reverts, ...applies].filter(({ operation }) => operation === "metadata");
  const paths = new Set([...metadata.map(({ path }) => path), ...fromOriginal, ...folders]);
  // Contents first: once a folder has its mode, we may not be able to work in it.
  for (const path of [...paths].sort(comparePaths).reverse()) {
    const base = tree.isSingleFile && path === ROOT_PATH ? undefined : baseMetadata(tree, path);
    const wanted = changed.get(path) ?? base;
    if (wanted === undefined || tree.own.factsBelow(path) === undefined) continue;
    const isFolder = tree.own.factsBelow(path)?.kind === "directory";
    const mtime = isFolder ? (times.get(path) ?? base?.mtime ?? wanted.mtime) : wanted.mtime;
    setWhatDiffers(tree.own, path, { ...wanted, mtime });
  }
}

/** The metadata that the copy of an entry began with; its owner and mode may differ from the original's. */
function baseMetadata({ baseline }: RestoredTree, path: string): Metadata | undefined {
  const index = baseline.find(path);
  if (index === undefined) return undefined;
  const { mtime, xattrs } = baseline.facts(index);
  const { mode, uid, gid } = baseline.copy(index);
  return { mode, uid, gid, mtime, xattrs };
}

function setWhatDiffers(own: Folder, path: string, wanted: Metadata): void {
  const now = metadataAt(own, path);
  const isLink = own.factsBelow(path)?.kind === "symlink";
  const parts = PARTS.filter((part) => !(isLink && part === "mode") && !sameParts(now, wanted, [part]));
  if (parts.length === 0) return;
  using parent = own.openBelow(parentPath(path));
  // Setting any other part moves the time.
  const entry = { folder: parent, name: baseName(path) };
  setMetadata(entry, wanted, [...new Set([...parts, "mtime" as const])], isLink);
}

/**
 * Records in the baseline the entries that are other files now with the same content. For an entry that the
 * checkpoint changed in part, records only the inode, with a change time that no file has, so that a diff
 * always looks at it.
 */
function noteOtherFiles({ own, baseline, saved, now }: RestoredTree, plan: RestorePlan): void {
  const { reverts, fromOriginal, folders } = plan;
  const changed = new Set(saved.entries.map(({ path }) => path));
  const replaced = new Set(
    saved.entries.filter(({ operation }) => operation !== "metadata").map(({ path }) => path),
  );
  const metadata = reverts.filter(({ operation }) => operation === "metadata").map(({ path }) => path);
  // A file that got or lost a name has another change time.
  const linked = [
    ...[...namesOfInodes(baseline, linkedInodes(baseline, fromOriginal)).values()].flat(),
    ...now.anchors.values(),
    ...saved.links.map(([, other]) => other),
  ];
  for (const path of new Set([...metadata, ...fromOriginal, ...folders, ...linked])) {
    const index = nearest(replaced, path) === undefined ? baseline.find(path) : undefined;
    const facts = index === undefined ? undefined : own.factsBelow(path);
    if (index === undefined || facts === undefined) continue;
    const ctime = changed.has(path) ? NO_TIME : facts.ctime;
    const { mode, uid, gid } = baseline.copy(index);
    baseline.setCopy(index, { ...facts, mode, uid, gid, ctime });
  }
}

function linkedInodes(baseline: Baseline, paths: readonly string[]): ReadonlySet<string> {
  return new Set(
    paths.flatMap((path) => {
      const index = baseline.find(path);
      const base = index === undefined ? undefined : baseline.facts(index);
      return base === undefined || base.kind === "directory" || base.nlink < 2 ? [] : [identityKey(base)];
    }),
  );
}
