import { ROOT_PATH } from "../core/byte-path.ts";
import { UsageError } from "../core/errors.ts";
import type { Facts } from "../system/facts.ts";
import { failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";
import { readXattrs, writeXattrs } from "../system/xattrs.ts";
import type { Baseline } from "./baseline.ts";
import type { CopiedTree } from "./copied-tree.ts";
import { type CopyOptions, copyTree } from "./copy-tree.ts";
import type { Steps } from "./pace.ts";
import { ensureFolder, removeTree } from "./remove-tree.ts";
import { readSmallFile, writeSmallFile } from "./small-file.ts";

/**
 * Checkpoints of a copied tree, in the workspace: `checkpoints/ID/tree`, a copy that shares blocks where the file system can, and
 * `checkpoints/ID/changed`, the paths that differed from the original then. `changed` is written last; a checkpoint without it does not count.
 * `restoring` holds the id while a restore is under way; whoever opens the sandbox after a crash goes on with it first.
 */
const POINTS = {
  create: failpoint("checkpoint.create"),
  finish: failpoint("checkpoint.finish"),
  remove: failpoint("checkpoint.remove"),
  begin: failpoint("checkpoint.begin-restore"),
  restore: failpoint("checkpoint.restore"),
  end: failpoint("checkpoint.end-restore"),
};
const CHECKPOINTS = "checkpoints";
const TREE = "tree";
const CHANGED = "changed";
const RESTORING = "restoring";

/** Saves the tree under this id, replacing a checkpoint of the same id. */
export function* saveCheckpoint(workspace: Folder, id: string, tree: Folder, changed: readonly string[]): Steps {
  using checkpoints = ensureFolder(POINTS.create, workspace, CHECKPOINTS);
  removeTree(POINTS.remove, checkpoints, id);
  using checkpoint = ensureFolder(POINTS.create, checkpoints, id);
  using copy = ensureFolder(POINTS.create, checkpoint, TREE);
  yield* copyTree(tree, copy, { data: "share" });
  writeSmallFile(POINTS.finish, checkpoint, CHANGED, Buffer.from(JSON.stringify(changed)));
}

/**
 * Says durably enough for a crash of the process that the tree is about to become what it was at the checkpoint. Until `finishRestore` has
 * come to its end nothing may be read from the tree, or landed.
 */
export function beginRestore(workspace: Folder, id: string): void {
  using checkpoint = workspace.openBelowIfThere(`${CHECKPOINTS}/${id}`);
  if (checkpoint === undefined || readSmallFile(checkpoint, CHANGED) === undefined) {
    throw new UsageError(`There is no checkpoint ${id}.`, {
      hint: "It may have been dropped by a later restore, or by a landing.",
    });
  }
  writeSmallFile(POINTS.begin, workspace, RESTORING, Buffer.from(id));
}

/**
 * Makes the tree what it was at the checkpoint that a restore was begun for, if one was. The entries that were as in the original then are
 * told to the baseline as untouched, because the copies that are made here are new files.
 */
export function* finishRestore(workspace: Folder, copy: CopiedTree): Steps {
  const id = readSmallFile(workspace, RESTORING)?.toString();
  if (id === undefined) return;
  using checkpoint = workspace.openBelow(`${CHECKPOINTS}/${id}`);
  const changed = new Set(JSON.parse(readSmallFile(checkpoint, CHANGED)?.toString() ?? "[]") as string[]);
  const restored = new Map<string, Facts>();
  const options: CopyOptions = { data: "share", onCopied: (entry) => restored.set(entry.path, entry.copy) };
  using tree = copy.openTree();
  using saved = checkpoint.openChild(TREE);
  const baseline = copy.loadBaseline();
  for (const name of tree.names()) removeTree(POINTS.restore, tree, name);
  writeXattrs(POINTS.restore, tree, ROOT_PATH, {}, readXattrs(tree, ROOT_PATH));
  // The root is not made anew, so attributes that it got since are still there.
  writeXattrs(POINTS.restore, tree, ROOT_PATH, {}, readXattrs(tree, ROOT_PATH));
  yield* copyTree(saved, tree, options);
  noteUntouched(baseline, baseline.root, ".", changed, (path) => lookAgain(tree, path, restored.get(path)));
  copy.saveBaseline(baseline);
  workspace.removeFile(POINTS.end, RESTORING);
}

function lookAgain(tree: Folder, path: string, copied: Facts | undefined): Facts | undefined {
  if (copied === undefined || copied.nlink === 1 || copied.kind === "directory") return copied;
  const slash = path.lastIndexOf("/");
  using parent = tree.openBelow(slash < 0 ? "." : path.slice(0, slash));
  return parent.facts(path.slice(slash + 1));
}

function noteUntouched(
  baseline: Baseline,
  index: number,
  path: string,
  changed: ReadonlySet<string>,
  find: (path: string) => Facts | undefined,
): void {
  const copy = changed.has(path) ? undefined : find(path);
  if (copy !== undefined) baseline.setCopy(index, copy);
  const [from, to] = baseline.children(index);
  for (let at = from; at < to; at += 1) {
    noteUntouched(baseline, at, path === "." ? baseline.name(at) : `${path}/${baseline.name(at)}`, changed, find);
  }
}
