import type { Conflict } from "../../core/errors/errors.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { newId } from "../../system/state/new-id.ts";

/**
 * What updates have left in a sandbox of a database, in the file `merges` of its workspace, as JSON: `id`
 * tells this state from others, and `open` has the conflicts that no user has settled. A conflict counts only
 * while the plan's version is in the state that it had at the end of the update.
 */
interface Merges {
  readonly id: string;
  readonly open: readonly OpenConflict[];
}

export interface OpenConflict extends Conflict {
  /** The state of the plan's version (sqlite-update.ts). */
  readonly state: string;
}

const POINTS = { note: failpoint("sqlite.note-merge"), drop: failpoint("sqlite.drop-merges") };
const MERGES = "merges";

/** The conflicts that were open at the end of the last update. */
export function openConflicts(workspace: Folder): readonly OpenConflict[] {
  return read(workspace)?.open ?? [];
}

/** Records that the base has moved, and which conflicts are open. */
export function noteMerge(workspace: Folder, open: readonly OpenConflict[]): void {
  const merges: Merges = { id: newId(), open };
  writeWhole(POINTS.note, workspace, MERGES, Buffer.from(JSON.stringify(merges)));
}

/** The file as it is, for a checkpoint; empty if there is none. */
export function mergesBytes(workspace: Folder): Buffer {
  return readWhole(workspace, MERGES) ?? Buffer.alloc(0);
}

/** What tells checkpoints with different bases apart; empty before the first update. */
export function mergesMark(workspace: Folder): string {
  const id = read(workspace)?.id;
  return id === undefined ? "" : `-${id}`;
}

/** Brings the file back as it was; without bytes there was none. */
export function writeMerges(workspace: Folder, bytes: Uint8Array | undefined): void {
  if (bytes !== undefined && bytes.length > 0) writeWhole(POINTS.note, workspace, MERGES, bytes);
  else removeTree(POINTS.drop, workspace, MERGES);
}

function read(workspace: Folder): Merges | undefined {
  const bytes = readWhole(workspace, MERGES);
  return bytes === undefined ? undefined : parsed<Merges>(bytes);
}
