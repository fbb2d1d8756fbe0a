import { saveCheckpointBy } from "../../engine/checkpoint/tree-checkpoints.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { Steps } from "../../engine/work/pace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { copyFile, fileDigest } from "./file-copy.ts";
import type { SqliteSandbox } from "./sqlite-sandbox.ts";
import { filesOf } from "./sqlite-view.ts";

/**
 * Checkpoints of a sandbox of a database. Each is a copy of the database, `checkpoints/ID/saved.db`, which
 * shares blocks where the file system can.
 */
const POINTS = { save: failpoint("sqlite.checkpoint"), restore: failpoint("sqlite.restore") };
const SAVED = "saved.db";

/** Saves the copy. The caller has frozen it. */
export function* saveCheckpoint(sandbox: SqliteSandbox, id: string): Steps {
  yield* saveCheckpointBy(
    sandbox.workspace,
    id,
    function* (checkpoint) {
      using own = sandbox.openOwn();
      yield* copyFile(POINTS.save, { folder: own, name: sandbox.name }, { folder: checkpoint, name: SAVED });
      yield 1;
    },
    () => Buffer.alloc(0),
  );
}

/** The state of the copy: the digest of its one file. The caller has frozen it. */
export function stateOf(sandbox: SqliteSandbox): { readonly mark: string; readonly bytes: number } {
  using own = sandbox.openOwn();
  const place = { folder: own, name: sandbox.name };
  return { mark: fileDigest(place), bytes: own.facts(sandbox.name)?.size ?? 0 };
}

/** Restores the copy from a checkpoint. */
export function* bringBack(sandbox: SqliteSandbox, checkpoint: Folder): Steps {
  using own = sandbox.openOwn();
  for (const file of filesOf(sandbox.name)) removeTree(POINTS.restore, own, file);
  yield* copyFile(POINTS.restore, { folder: checkpoint, name: SAVED }, { folder: own, name: sandbox.name });
  yield 1;
}
