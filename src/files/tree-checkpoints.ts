import { ROOT_PATH } from "../core/byte-path.ts";
import { UsageError } from "../core/errors.ts";
import type { Facts } from "../system/facts.ts";
import { failpoint } from "../system/failpoints.ts";
import { flush } from "../system/flush.ts";
import type { Folder } from "../system/folder.ts";
import { readXattrs, writeXattrs } from "../system/xattrs.ts";
import { type CopyOptions, copyTree } from "./copy-tree.ts";
import type { Steps } from "./pace.ts";
import { ensureFolder, removeTree } from "./remove-tree.ts";
import { readSmallFile, writeSmallFile } from "./small-file.ts";

/**
 * Checkpoints of a sandbox, in its workspace: `checkpoints/ID/tree`, a copy of what is its own that shares blocks where the file system can,
 * and `checkpoints/ID/notes`, what the strategy knew of it. `notes` is written last; a checkpoint without it does not count.
 * `restoring` holds the id while a restore is under way; whoever opens the sandbox after a crash goes on with it first.
 */
const POINTS = {
  create: failpoint("checkpoint.create"),
  finish: failpoint("checkpoint.finish"),
  flush: failpoint("checkpoint.flush"),
  remove: failpoint("checkpoint.remove"),
  begin: failpoint("checkpoint.begin-restore"),
  restore: failpoint("checkpoint.restore"),
  end: failpoint("checkpoint.end-restore"),
};
const CHECKPOINTS = "checkpoints";
const TREE = "tree";
const NOTES = "notes";
const RESTORING = "restoring";

/** What a checkpoint saves besides the tree: what is known of it. */
export interface CheckpointedTree {
  readonly workspace: Folder;
  /** Whether what is saved is a layer of an overlay, whose marks belong to it. */
  readonly withMarks: boolean;
}

/** Saves the tree under this id, replacing a checkpoint of the same id. */
export function* saveCheckpoint(
  { workspace, withMarks }: CheckpointedTree,
  id: string,
  own: Folder,
  notes: () => Uint8Array,
): Steps {
  using checkpoints = ensureFolder(POINTS.create, workspace, CHECKPOINTS);
  removeTree(POINTS.remove, checkpoints, id);
  using checkpoint = ensureFolder(POINTS.create, checkpoints, id);
  using copy = ensureFolder(POINTS.create, checkpoint, TREE);
  yield* copyTree(own, copy, { data: "share", withMarks });
  writeSmallFile(POINTS.finish, checkpoint, NOTES, notes());
}

/** Sees that a checkpoint is still there after a power cut. */
export async function flushCheckpoint(workspace: Folder, id: string): Promise<void> {
  using checkpoints = workspace.openChild(CHECKPOINTS);
  await flush(POINTS.flush, checkpoints, () => [
    { parent: checkpoints, name: id },
    { parent: checkpoints, name: ROOT_PATH },
    { parent: workspace, name: ROOT_PATH },
  ]);
}

/**
 * Says durably enough for a crash of the process that the tree is about to become what it was at the checkpoint. Until `finishRestore` has
 * come to its end nothing may be read from the tree, or landed.
 */
export function beginRestore(workspace: Folder, id: string): void {
  using checkpoint = workspace.openBelowIfThere(`${CHECKPOINTS}/${id}`);
  if (checkpoint === undefined || readSmallFile(checkpoint, NOTES) === undefined) {
    throw noCheckpoint(id);
  }
  writeSmallFile(POINTS.begin, workspace, RESTORING, Buffer.from(id));
}

/**
 * Makes the tree what it was at the checkpoint that a restore was begun for, if one was. `settle` gets what was known of the tree then, and
 * the facts of everything that was restored, which are new files.
 */
export function* finishRestore(
  { workspace, withMarks }: CheckpointedTree,
  openOwn: () => Folder,
  settle: (notes: Buffer, own: Folder, restored: ReadonlyMap<string, Facts>) => void,
): Steps {
  const id = readSmallFile(workspace, RESTORING)?.toString();
  if (id === undefined) return;
  using checkpoint = workspace.openBelow(`${CHECKPOINTS}/${id}`);
  const notes = readSmallFile(checkpoint, NOTES);
  if (notes === undefined) throw noCheckpoint(id);
  const restored = new Map<string, Facts>();
  const options: CopyOptions = { data: "share", withMarks, onCopied: ({ path, copy }) => restored.set(path, copy) };
  using own = openOwn();
  using saved = checkpoint.openChild(TREE);
  for (const name of own.names()) removeTree(POINTS.restore, own, name);
  // The root is not made anew, so attributes that it got since are still there.
  writeXattrs(POINTS.restore, own, ROOT_PATH, {}, readXattrs(own, ROOT_PATH));
  yield* copyTree(saved, own, options);
  settle(notes, own, restored);
  workspace.removeFile(POINTS.end, RESTORING);
}

function noCheckpoint(id: string): UsageError {
  return new UsageError(`There is no checkpoint ${id}.`, {
    hint: "It may have been dropped by a later restore, or by a landing.",
  });
}
