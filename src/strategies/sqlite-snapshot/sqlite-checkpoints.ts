import { UnsupportedError } from "../../core/errors/errors.ts";
import { notesOf, saveCheckpointBy } from "../../engine/checkpoint/tree-checkpoints.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { Steps } from "../../engine/work/pace.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import type { SavedWork } from "../folder/workspace-strategy.ts";
import { copyFile, fileDigest } from "./file-copy.ts";
import { mergesBytes, mergesMark, writeMerges } from "./sqlite-merges.ts";
import { BASE, type SqliteSandbox } from "./sqlite-sandbox.ts";
import { filesOf } from "./sqlite-view.ts";

/**
 * Checkpoints of a sandbox of a database, in `checkpoints/ID`:
 *
 * - `saved.db`: a copy of the database, which shares blocks where the file system can;
 * - `base.db`: a second name of the base, which an update replaces. Checkpoints from before there were
 *   updates have none.
 *
 * The notes are those of updates (sqlite-merges.ts).
 */
const POINTS = { save: failpoint("sqlite.checkpoint"), restore: failpoint("sqlite.restore") };
const SAVED = "saved.db";
/** The file system has no second names, or the file has as many as it allows. */
const NO_LINKS = ["EPERM", "EMLINK", "ENOTSUP"] as const;

/** Saves the copy. The caller has frozen it. */
export function* saveCheckpoint(sandbox: SqliteSandbox, id: string): Steps {
  yield* saveCheckpointBy(
    sandbox.workspace,
    id,
    function* (checkpoint) {
      using own = sandbox.openOwn();
      yield* copyFile(POINTS.save, { folder: own, name: sandbox.name }, { folder: checkpoint, name: SAVED });
      yield* linkOrCopy(POINTS.save, sandbox.workspace, checkpoint);
      yield 1;
    },
    () => mergesBytes(sandbox.workspace),
  );
}

function* linkOrCopy(point: Failpoint, from: Folder, to: Folder): Steps {
  const isLinked = unlessFailed(NO_LINKS, () => {
    to.createHardLink(point, BASE, from, BASE);
    return true;
  });
  if (isLinked !== true) yield* copyFile(point, { folder: from, name: BASE }, { folder: to, name: BASE });
}

/** The state of the copy and of its base: the digest of its one file. The caller has frozen it. */
export function stateOf(sandbox: SqliteSandbox): { readonly mark: string; readonly bytes: number } {
  using own = sandbox.openOwn();
  const place = { folder: own, name: sandbox.name };
  const mark = `${fileDigest(place)}${mergesMark(sandbox.workspace)}`;
  return { mark, bytes: own.facts(sandbox.name)?.size ?? 0 };
}

/** Refuses a checkpoint that does not say which base it belongs to. */
export function assertHasBase(workspace: Folder, id: string): void {
  using checkpoint = workspace.openBelowIfThere(`checkpoints/${id}`);
  if (checkpoint === undefined || checkpoint.facts(BASE) !== undefined || mergesMark(workspace) === "")
    return;
  throw new UnsupportedError(`The checkpoint ${id} is from before the plan was updated, and has no base.`, {
    hint: "Go back to the checkpoint that the update made, or to a later one.",
  });
}

/** The paths of the files of a complete checkpoint. */
export function savedFiles(workspace: Folder, id: string): { readonly own: string; readonly base: string } {
  notesOf(workspace, id);
  assertHasBase(workspace, id);
  using checkpoint = workspace.openBelow(`checkpoints/${id}`);
  const base = checkpoint.facts(BASE) === undefined ? workspace : checkpoint;
  return { own: checkpoint.label(SAVED), base: base.label(BASE) };
}

/** Restores the copy from a checkpoint, with its base. */
export function* bringBack(sandbox: SqliteSandbox, { checkpoint, notes }: SavedWork): Steps {
  const { workspace, name } = sandbox;
  using own = sandbox.openOwn();
  for (const file of filesOf(name)) removeTree(POINTS.restore, own, file);
  yield* copyFile(POINTS.restore, { folder: checkpoint, name: SAVED }, { folder: own, name });
  sandbox.copyAccessRights(own);
  if (checkpoint.facts(BASE) !== undefined) {
    removeTree(POINTS.restore, workspace, BASE);
    yield* linkOrCopy(POINTS.restore, checkpoint, workspace);
  }
  sandbox.removeNext();
  writeMerges(workspace, notes);
  yield 1;
}
