import type { LastCheckpoint, SavedCheckpoint } from "../../core/checkpoint.ts";
import {
  assertUnused,
  copyDatabase,
  dropDatabase,
  replaceDatabase,
  savedName,
} from "../../database/postgres/clone/clone-databases.ts";
import { saveCheckpointBy, saveUnlessSame } from "../../engine/checkpoint/tree-checkpoints.ts";
import type { LongWork } from "../../engine/work/long-work.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import type { SavedWork } from "../folder/workspace-strategy.ts";
import type { CloneSandbox } from "./clone-sandbox.ts";

/**
 * Checkpoints of a clone are databases of its server (clone-databases.ts). The notes of a checkpoint, which
 * make it complete, name its database.
 */
const POINTS = {
  save: failpoint("clone.checkpoint"),
  restore: failpoint("clone.restore"),
  discard: failpoint("clone.discard-checkpoint"),
};

/** Saves the clone. Fails while a client is connected to it. */
export async function saveClone(
  sandbox: CloneSandbox,
  id: string,
  last: LastCheckpoint | undefined,
  work: LongWork,
): Promise<SavedCheckpoint> {
  const server = await sandbox.server();
  const name = savedName(id);
  const bytes = await sandbox.onDatabase(server, "postgres", async (admin) => {
    await assertUnused(admin, sandbox.database);
    passFailpoint(POINTS.save);
    await copyDatabase(admin, sandbox.database, name);
    return Number((await admin.run("SELECT pg_database_size($1::name)", [name])).rows[0]?.[0] ?? 0);
  });
  const notes = () => Buffer.from(JSON.stringify({ database: name }));
  return await saveUnlessSame(sandbox.workspace, { id, last }, { mark: undefined, bytes }, () =>
    work.run("saving", saveCheckpointBy(sandbox.workspace, id, nothingMore, notes)),
  );
}

function* nothingMore(): Generator<number> {
  yield 1;
}

/** Restores the clone. Clients lose their connection. */
export async function bringBack(sandbox: CloneSandbox, { notes }: SavedWork): Promise<void> {
  const { database } = JSON.parse(notes.toString()) as { readonly database: string };
  const server = await sandbox.server();
  passFailpoint(POINTS.restore);
  await sandbox.onDatabase(server, "postgres", (admin) => replaceDatabase(admin, database, sandbox.database));
}

/** Removes the database of a checkpoint, if there is one. */
export async function discardSaved(sandbox: CloneSandbox, id: string): Promise<void> {
  if (!sandbox.isFinished) return;
  const server = await sandbox.server();
  passFailpoint(POINTS.discard);
  await sandbox.onDatabase(server, "postgres", (admin) => dropDatabase(admin, savedName(id)));
}
