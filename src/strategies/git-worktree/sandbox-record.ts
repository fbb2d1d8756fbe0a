import { StateError } from "../../core/errors/errors.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { SANDBOX, STALE } from "./layout.ts";

const POINTS = {
  finish: failpoint("git.finish"),
  stale: failpoint("git.mark-stale"),
  fresh: failpoint("git.mark-fresh"),
};

/** What a sandbox can begin with. */
export const STARTS = ["head", "checkout"] as const;

/**
 * - `head`: the commit that is checked out.
 * - `checkout`: the files as they are, uncommitted and untracked ones too.
 */
export type Start = (typeof STARTS)[number];

/** The commits that a worktree was made from. A rebuilt worktree has a new record. */
export interface SandboxRecord {
  /** The commit that the worktree began with. */
  readonly base: string;
  /** The commit that was checked out. Equal to `base`, unless the sandbox began with uncommitted files. */
  readonly head: string;
  /** The branch that was checked out, or "HEAD" for none. The work lands there. */
  readonly ref: string;
  readonly bootId: string;
}

export function isFinished(workspace: Folder): boolean {
  return workspace.facts(SANDBOX) !== undefined;
}

export function readRecord(workspace: Folder): SandboxRecord {
  const bytes = readWhole(workspace, SANDBOX);
  const record = bytes === undefined ? undefined : parsed<SandboxRecord>(bytes);
  if (record !== undefined) return record;
  throw new StateError(`The sandbox in ${workspace.path} is incomplete.`, {
    hint: "Cancel its plan and make a new one.",
  });
}

export function writeRecord(workspace: Folder, record: SandboxRecord): void {
  writeWhole(POINTS.finish, workspace, SANDBOX, Buffer.from(JSON.stringify(record)));
}

/** Whether the worktree predates the last landing and must be rebuilt. */
export function isStale(workspace: Folder): boolean {
  return workspace.facts(STALE) !== undefined;
}

export function markStale(workspace: Folder): void {
  if (isFinished(workspace) && !isStale(workspace))
    writeWhole(POINTS.stale, workspace, STALE, Buffer.alloc(0));
}

export function markFresh(workspace: Folder): void {
  if (isStale(workspace)) workspace.removeFile(POINTS.fresh, STALE);
}
