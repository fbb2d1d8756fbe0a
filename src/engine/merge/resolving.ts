import { UnsupportedError, UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type { Resolution, ResolveReport } from "../../core/values/merge.ts";
import { originalEntry } from "../base/original-entry.ts";
import type { OpenSandbox } from "../sandbox/sandbox-reference.ts";
import type { SandboxTree } from "../sandbox/sandbox-tree.ts";
import { type ConflictingEntry, conflictingEntries } from "./conflicting-entries.ts";
import { isMarked } from "./marked-files.ts";
import type { MergeRecord } from "./merge-record.ts";

/** A path to settle, in the words of its user. */
export interface AskedResolution {
  readonly path: string;
  readonly how: Resolution;
  /** What the name of the plan's version gets added, if both are kept. */
  readonly suffix: string;
}

type Settled = OpenSandbox<SandboxTree>;

/**
 * Settles a path by the user's word: one that an update marked, or one that it could not merge. Folders are
 * not settled as a whole. The caller has made a checkpoint.
 */
export async function resolvePath(
  sandbox: Settled,
  record: MergeRecord,
  asked: AskedResolution,
): Promise<ResolveReport> {
  const { path, how } = asked;
  const base = await sandbox.tree.base();
  const ours = isMarked(sandbox, record, path) ? record.readOurs(path) : undefined;
  const conflict = conflictingEntries(sandbox).find((entry) => entry.path === path);
  if (conflict === undefined && ours === undefined) throw notInConflict(path);
  if (conflict !== undefined) assertNoFolder(sandbox, conflict);
  if (ours !== undefined) sandbox.tree.write(sandbox.original, sandbox.own, path, ours);
  const isDeleted = conflict?.operation === "delete";
  const beside = how === "keep-both" ? await moveAside(sandbox, asked, isDeleted) : undefined;
  record.note();
  if (how === "ours") base.adopt(sandbox.original, [originalEntry(sandbox.original, path)]);
  else base.takeOriginals(sandbox.original, [path]);
  return { path, ...(beside !== undefined && { beside }) };
}

/**
 * Gives the plan's entry another name beside its own. Returns that path. What the plan deletes is a mark in
 * the tree of an overlay, and no entry.
 */
async function moveAside(
  sandbox: Settled,
  { path, suffix }: AskedResolution,
  isDeleted: boolean,
): Promise<string> {
  const { tree, original, own } = sandbox;
  if (isDeleted || original.factsBelow(path) === undefined || own.factsBelow(path) === undefined)
    throw new UsageError(`${displayPath(path)} is deleted on one side, so there are no two versions.`, {
      hint: "Choose ours or theirs.",
      code: "NOT_IN_CONFLICT",
    });
  return await tree.browse(original, own, "change", (entries) => {
    const names = [suffix, ...Array.from({ length: MOST_ASIDE }, (_, index) => `${suffix}-${index + 2}`)];
    const free = names
      .map((name) => `${path}~${name}`)
      .find((to) => entries.at(to, () => true) === undefined);
    if (free === undefined) throw new UsageError(`There are too many versions beside ${displayPath(path)}.`);
    entries.rename(path, free);
    return free;
  });
}

const MOST_ASIDE = 100;

function assertNoFolder({ original }: Settled, { path, kind, before, isBelow, why }: ConflictingEntry): void {
  if (isBelow)
    throw new UnsupportedError(`${displayPath(path)} can't be settled on its own: ${why}.`, {
      hint: "Bring that folder back in the original, or take back what the plan did in it.",
      code: "CONFLICT_OF_FOLDERS",
    });
  const kinds = [kind, before?.kind, original.factsBelow(path)?.kind];
  if (!kinds.includes("directory")) return;
  throw new UnsupportedError(`${displayPath(path)} is a folder, and a folder can't be settled as a whole.`, {
    hint: "Take back what the plan did to it, or bring the original's folder back as it was.",
    code: "CONFLICT_OF_FOLDERS",
  });
}

function notInConflict(path: string): UsageError {
  return new UsageError(`${displayPath(path)} is not in conflict.`, {
    code: "NOT_IN_CONFLICT",
  });
}
