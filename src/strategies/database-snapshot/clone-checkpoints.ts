import type { LastCheckpoint, SavedCheckpoint } from "../../core/checkpoint.ts";
import { saveCheckpointBy, saveUnlessSame } from "../../engine/checkpoint/tree-checkpoints.ts";
import type { LongWork } from "../../engine/work/long-work.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import type { SavedWork } from "../folder/workspace-strategy.ts";
import type { CloneSandbox } from "./clone-sandbox.ts";

/**
 * The server of a clone keeps its checkpoints. The notes of a checkpoint, which make it complete, have its
 * id.
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
  const clone = await sandbox.clone();
  passFailpoint(POINTS.save);
  const bytes = await clone.save(id);
  const notes = () => Buffer.from(JSON.stringify({ saved: id }));
  return await saveUnlessSame(sandbox.workspace, { id, last }, { mark: undefined, bytes }, () =>
    work.run("saving", saveCheckpointBy(sandbox.workspace, id, nothingMore, notes)),
  );
}

function* nothingMore(): Generator<number> {
  yield 1;
}

/** Restores the clone. Clients lose their connection. */
export async function bringBack(sandbox: CloneSandbox, { notes }: SavedWork): Promise<void> {
  const { saved } = JSON.parse(notes.toString()) as { readonly saved: string };
  const clone = await sandbox.clone();
  passFailpoint(POINTS.restore);
  await clone.bringBack(saved);
}

/** Removes what the server keeps of a checkpoint. */
export async function discardSaved(sandbox: CloneSandbox, id: string): Promise<void> {
  if (!sandbox.isFinished) return;
  const clone = await sandbox.clone();
  passFailpoint(POINTS.discard);
  await clone.discard(id);
}
