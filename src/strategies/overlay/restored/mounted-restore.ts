import { BusyError } from "../../../core/errors/errors.ts";
import { baseName, foldersAbove, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import { assertNoneWritten } from "../../../engine/checkpoint/written-files.ts";
import { copyEntries } from "../../../engine/tree/copy-tree.ts";
import { type MetadataPart, metadataOf, sameParts, setMetadata } from "../../../engine/tree/metadata.ts";
import { removeTree } from "../../../engine/tree/remove-tree.ts";
import type { Steps } from "../../../engine/work/pace.ts";
import type { Scope } from "../../../engine/workspace/scope.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { BaseRecord } from "../base-record.ts";
import { LayerMarks } from "../layer-marks.ts";
import type { LayeredTree } from "../layered-tree.ts";
import { findSteps, isDone, type RestoreSteps } from "./restore-steps.ts";

/**
 * A restore while programs are inside. A layer can't be exchanged beneath its mount, so the tree is brought
 * back through the mount, entry by entry, and only where it differs from the checkpoint. Programs stand still
 * meanwhile.
 *
 * Order of writes:
 * 1. Everything that differs goes, and comes anew: from the checkpoint, or from the original where the
 *    checkpoint shows that. Then modes and times. All of it is compared once more, until nothing differs.
 * 2. `base`: that of the checkpoint, with notes on what the layer has besides (restored-notes.ts). It alone
 *    says how the layer is to be read.
 *
 * After a crash before step 2 all of it is done again, or the layer is exchanged if the programs have ended.
 */
const POINTS = {
  remove: failpoint("mounted.remove"),
  folder: failpoint("mounted.create-folder"),
  unlock: failpoint("mounted.unlock"),
};
const PARTS: readonly MetadataPart[] = ["owner", "xattrs", "mode", "mtime"];
const OWNER_ALL = 0o700;
/** Another writer may change the original meanwhile. */
const TRIES = 10;

/** A checkpoint, and the sandbox that is brought back to it. */
export interface MountedRestore {
  readonly tree: LayeredTree;
  readonly workspace: Folder;
  readonly original: Folder;
  readonly scope: Scope;
  /** The layer of the checkpoint, and its record. */
  readonly saved: Folder;
  readonly notes: Uint8Array;
}

/** Refuses, before anything is touched, what can't be brought back exactly, or without a loss. */
export function assertRestorable(restore: MountedRestore): void {
  using upper = restore.tree.openOwn();
  stepsOf(restore, upper);
}

/** May be repeated after a crash in the middle. */
export function* restoreThrough(mounted: Folder, restore: MountedRestore): Steps {
  using upper = restore.tree.openOwn();
  for (let round = 0; round < TRIES; round += 1) {
    const steps = stepsOf(restore, upper);
    if (isDone(steps)) {
      steps.notes.recordOver(restore.notes).save(restore.workspace, "flushed");
      return;
    }
    yield* take(steps, mounted, restore);
  }
  throw new BusyError(`${restore.scope.root} could not be restored while commands run in it.`, {
    holder: "another process",
    hint: "Another process changes it at the same time, or it has what only the owner of a file may set. Wait until the commands have ended, and try again.",
  });
}

function stepsOf({ tree, workspace, original, scope, saved }: MountedRestore, upper: Folder): RestoreSteps {
  const steps = findSteps({
    ...{ upper, lower: original, saved, scope },
    marks: new LayerMarks(tree.way),
    record: BaseRecord.load(workspace),
    age: tree.age,
  });
  assertNoneWritten(upper, steps.removed);
  return steps;
}

function* take(steps: RestoreSteps, mounted: Folder, { original, saved }: MountedRestore): Steps {
  const { removed, folders, fromOriginal, fromCheckpoint, metadata } = steps;
  const set = [...metadata].flatMap(([path, { isToSet }]) => (isToSet ? [path] : []));
  unlockAbove(mounted, [...removed, ...folders, ...fromOriginal, ...fromCheckpoint, ...set]);
  for (const path of removed) {
    using parent = mounted.openBelow(parentPath(path));
    removeTree(POINTS.remove, parent, baseName(path));
    yield 1;
  }
  for (const path of folders) {
    using parent = mounted.openBelow(parentPath(path));
    parent.createFolder(POINTS.folder, baseName(path), OWNER_ALL);
  }
  yield* copyEntries(original, mounted, fromOriginal, { data: "share" });
  yield* copyEntries(saved, mounted, fromCheckpoint, { data: "share" });
  // Contents first: once a folder has its mode, we may not be able to work in it.
  for (const [path, { metadata: wanted, isLink, isToSet }] of [...metadata].toReversed()) {
    using parent = mounted.openBelowIfThere(parentPath(path));
    const name = baseName(path);
    const facts = path === ROOT_PATH ? mounted.ownFacts() : parent?.facts(name);
    if (parent === undefined || facts === undefined) continue;
    const now = metadataOf(parent, name, facts);
    const parts = PARTS.filter((part) => !(isLink && part === "mode") && !sameParts(now, wanted, [part]));
    if (isToSet || parts.length > 0)
      setMetadata({ folder: parent, name }, wanted, [...new Set([...parts, "mtime" as const])], isLink);
  }
}

/** Without privilege, we can't work in a folder that refuses its owner. */
function unlockAbove(mounted: Folder, paths: readonly string[]): void {
  if (process.geteuid?.() === 0) return;
  for (const path of new Set(paths.flatMap(foldersAbove))) {
    using parent = mounted.openBelowIfThere(parentPath(path));
    const facts = path === ROOT_PATH ? mounted.ownFacts() : parent?.facts(baseName(path));
    if (facts?.kind === "directory" && (facts.mode & OWNER_ALL) !== OWNER_ALL)
      parent?.setMode(POINTS.unlock, baseName(path), facts.mode | OWNER_ALL);
  }
}
