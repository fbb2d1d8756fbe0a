import type { LastCheckpoint, SavedCheckpoint } from "../../core/checkpoint.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs, writeXattrs } from "../../system/calls/xattrs.ts";
import { flush } from "../../system/data/flush.ts";
import { readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { takeBarrier } from "../base/barrier.ts";
import type { SavedTree } from "../sandbox/sandbox-tree.ts";
import { copyEntries, copyTree } from "../tree/copy-tree.ts";
import { removeTree } from "../tree/remove-tree.ts";
import type { Steps } from "../work/pace.ts";
import { SharedFiles } from "./shared-files.ts";
import type { TreeState } from "./tree-state.ts";

/**
 * The checkpoints of a sandbox, in its workspace:
 *
 *   checkpoints/ID/tree    a copy of the sandbox's own tree, sharing blocks where the file system can, and
 *                          files that did not change with the checkpoint before (shared-files.ts)
 *   checkpoints/ID/files   the list by which the next checkpoint shares them
 *   checkpoints/ID/notes   the strategy's notes on it; written last: a checkpoint without them does not count
 *   restoring              the id of the checkpoint, while a restore is under way; the next process that
 *                          opens the sandbox after a crash finishes the restore first
 */
const POINTS = {
  create: failpoint("checkpoint.create"),
  finish: failpoint("checkpoint.finish"),
  flush: failpoint("checkpoint.flush"),
  flushRestored: failpoint("checkpoint.flush-restored"),
  remove: failpoint("checkpoint.remove"),
  begin: failpoint("checkpoint.begin-restore"),
  restore: failpoint("checkpoint.restore"),
  end: failpoint("checkpoint.end-restore"),
};
const CHECKPOINTS = "checkpoints";
const TREE = "tree";
const NOTES = "notes";
const RESTORING = "restoring";

/** A checkpoint that is about to be saved. */
export interface NewCheckpoint {
  readonly id: string;
  /** A barrier that was taken before the tree was looked at (barrier.ts). */
  readonly barrier: Time;
  /** The checkpoint before, whose files the new one may share. */
  readonly last?: LastCheckpoint | undefined;
}

/** How the layer of an overlay is saved. */
export interface SavedLayer {
  /** Whether an entry of it is saved. */
  readonly isSaved: (path: string) => boolean;
  /** Completes the copy, which is in the folder of the checkpoint. */
  readonly complete: (copy: Folder, checkpoint: Folder) => void;
  readonly notes: () => Uint8Array;
}

/** Saves the layer of an overlay, with its marks. */
export function* saveLayer(workspace: Folder, made: NewCheckpoint, own: Folder, layer: SavedLayer): Steps {
  yield* saveSharing(workspace, made, layer.notes, function* (checkpoint, files) {
    using copy = checkpoint.ensureFolder(POINTS.create, TREE);
    const filter = (path: string) => layer.isSaved(path);
    yield* copyTree(own, copy, { data: "share", withMarks: true, filter, ...files.options(inTree) });
    layer.complete(copy, checkpoint);
  });
}

/** Saves a checkpoint of only the entries at these paths. */
export function* saveEntries(
  workspace: Folder,
  made: NewCheckpoint,
  { own, paths }: { readonly own: Folder; readonly paths: readonly string[] },
  notes: () => Uint8Array,
): Steps {
  yield* saveSharing(workspace, made, notes, function* (checkpoint, files) {
    using copies = checkpoint.ensureFolder(POINTS.create, TREE);
    yield* copyEntries(own, copies, paths, { data: "share", ...files.options(inTree) });
  });
}

function inTree(path: string): string {
  return joinPath(TREE, path);
}

/** Saves a checkpoint that shares files with the one before. */
export function* saveSharing(
  workspace: Folder,
  { id, barrier, last }: NewCheckpoint,
  notes: () => Uint8Array,
  save: (checkpoint: Folder, files: SharedFiles) => Steps,
): Steps {
  const earlier = last === undefined ? undefined : openComplete(workspace, last.id);
  using files = new SharedFiles(workspace, barrier, earlier);
  yield* saveCheckpointBy(
    workspace,
    id,
    function* (checkpoint) {
      yield* save(checkpoint, files);
      files.save(checkpoint);
    },
    notes,
  );
}

/** Opens the entries that `saveEntries` saved in the folder of a checkpoint. */
export function openEntries(checkpoint: Folder): Folder {
  return checkpoint.openChild(TREE);
}

/** The notes of a complete checkpoint. */
export function notesOf(workspace: Folder, id: string): Buffer {
  using checkpoint = workspace.openBelowIfThere(`${CHECKPOINTS}/${id}`);
  const notes = checkpoint === undefined ? undefined : readWhole(checkpoint, NOTES);
  if (notes === undefined) throw noCheckpoint(id);
  return notes;
}

/** Opens a complete checkpoint of a tree. The caller closes its folder. */
export function openSaved(workspace: Folder, id: string): SavedTree {
  const notes = notesOf(workspace, id);
  return { entries: workspace.openBelow(`${CHECKPOINTS}/${id}/${TREE}`), notes };
}

/** Saves a checkpoint with the strategy's own way to save the tree, replacing one of the same id. */
export function* saveCheckpointBy(
  workspace: Folder,
  id: string,
  save: (checkpoint: Folder) => Steps,
  notes: () => Uint8Array,
): Steps {
  using checkpoints = workspace.ensureFolder(POINTS.create, CHECKPOINTS);
  removeTree(POINTS.remove, checkpoints, id);
  using checkpoint = checkpoints.ensureFolder(POINTS.create, id);
  yield* save(checkpoint);
  writeWhole(POINTS.finish, checkpoint, NOTES, notes());
}

/** Saves a checkpoint durably, unless the sandbox is still in the state of the last one. */
export async function saveUnlessSame(
  workspace: Folder,
  { id, last }: Pick<NewCheckpoint, "id" | "last">,
  { mark, bytes }: TreeState,
  save: () => Promise<void>,
): Promise<SavedCheckpoint> {
  const isSame = mark !== undefined && last?.mark === mark && hasCheckpoint(workspace, last.id);
  if (!isSame) {
    await save();
    await flushCheckpoint(workspace, id);
  }
  return { isSame, bytes, ...(mark !== undefined && { mark }) };
}

/** Makes a checkpoint survive a power cut. */
async function flushCheckpoint(workspace: Folder, id: string): Promise<void> {
  using checkpoints = workspace.openChild(CHECKPOINTS);
  await flush(POINTS.flush, checkpoints, () => [
    { parent: checkpoints, name: id },
    { parent: checkpoints, name: ROOT_PATH },
    { parent: workspace, name: ROOT_PATH },
  ]);
}

/**
 * Records that a restore to this checkpoint begins. The record survives a crash of the process. Until
 * `finishRestore` has finished, the tree may be neither read nor landed.
 */
export function beginRestore(workspace: Folder, id: string): void {
  notesOf(workspace, id);
  writeWhole(POINTS.begin, workspace, RESTORING, Buffer.from(id));
}

/**
 * Finishes the restore that was begun, if one was. The strategy brings the tree back, and repeats that after
 * a crash. The tree is flushed before the restore counts as done, because the caller then drops later
 * checkpoints.
 */
export async function finishRestore(
  workspace: Folder,
  bringBack: (checkpoint: Folder, notes: Buffer) => Promise<void>,
): Promise<void> {
  const begun = openBegun(workspace);
  if (begun === undefined) return;
  using checkpoint = begun.checkpoint;
  await bringBack(checkpoint, begun.notes);
  await flush(POINTS.flushRestored, workspace, () =>
    workspace
      .names()
      .filter((name) => name !== CHECKPOINTS && name !== RESTORING)
      .map((name) => ({ parent: workspace, name })),
  );
  workspace.removeFile(POINTS.end, RESTORING);
}

/** Brings back the layer that `saveLayer` saved in the folder of a checkpoint. No program may be inside. */
export function* bringLayerBack(workspace: Folder, checkpoint: Folder, own: Folder): Steps {
  using saved = checkpoint.openChild(TREE);
  for (const name of own.names()) removeTree(POINTS.restore, own, name);
  // The root is not made anew, so it may still have attributes from after the checkpoint.
  writeXattrs(POINTS.restore, own, ROOT_PATH, {}, readXattrs(own, ROOT_PATH));
  // The files in the sandbox are new. With a list of them, the next checkpoint shares the copies of this one.
  using files = new SharedFiles(workspace);
  yield* copyTree(saved, own, {
    data: "share",
    withMarks: true,
    onCopied: ({ path, copy }) => files.note(inTree(path), copy),
  });
  // Waits until every later change of a file has another change time.
  takeBarrier(workspace);
  files.save(checkpoint);
}

/** The checkpoint of the restore that was begun. */
function openBegun(workspace: Folder): { readonly checkpoint: Folder; readonly notes: Buffer } | undefined {
  const id = readWhole(workspace, RESTORING)?.toString();
  if (id === undefined) return undefined;
  const checkpoint = workspace.openBelow(`${CHECKPOINTS}/${id}`);
  const notes = readWhole(checkpoint, NOTES);
  if (notes !== undefined) return { checkpoint, notes };
  checkpoint.close();
  throw noCheckpoint(id);
}

/** Whether a complete checkpoint of this id exists. */
function hasCheckpoint(workspace: Folder, id: string): boolean {
  using checkpoint = openComplete(workspace, id);
  return checkpoint !== undefined;
}

function openComplete(workspace: Folder, id: string): Folder | undefined {
  const checkpoint = workspace.openBelowIfThere(`${CHECKPOINTS}/${id}`);
  if (checkpoint?.facts(NOTES) !== undefined) return checkpoint;
  checkpoint?.close();
  return undefined;
}

/** Whether a restore was begun and is not finished. */
export function isRestoring(workspace: Folder): boolean {
  return workspace.facts(RESTORING) !== undefined;
}

/**
 * Removes a checkpoint, complete or not, if it exists. Its notes go first, because without them it does not
 * count.
 */
export function removeCheckpoint(workspace: Folder, id: string): void {
  using checkpoints = workspace.openBelowIfThere(CHECKPOINTS);
  using checkpoint = checkpoints?.openBelowIfThere(id);
  if (checkpoints === undefined || checkpoint === undefined) return;
  removeTree(POINTS.remove, checkpoint, NOTES);
  removeTree(POINTS.remove, checkpoints, id);
}

/** Removes all checkpoints, and the record of an unfinished restore. */
export function dropCheckpoints(workspace: Folder): void {
  removeTree(POINTS.remove, workspace, RESTORING);
  removeTree(POINTS.remove, workspace, CHECKPOINTS);
}

function noCheckpoint(id: string): UsageError {
  return new UsageError(`There is no checkpoint ${id}.`, {
    hint: "It may have been dropped by a later restore, or by a landing.",
  });
}
