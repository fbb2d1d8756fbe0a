import { SandboxConflictError } from "../../core/errors/errors.ts";
import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { flush } from "../../system/data/flush.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { LandedPart } from "../landing/landed-part.ts";
import type { Direction, QuietFolder } from "../manifest/manifest.ts";
import { Slots } from "../manifest/slots.ts";
import { isLive, type SandboxTree } from "../sandbox/sandbox-tree.ts";
import { LandedTimes } from "../touches/landed-times.ts";
import { quietFolders } from "../touches/quiet-folders.ts";

/**
 * What follows when a part of the work has landed, or was taken back: the sandbox goes on showing what it
 * showed, but what it is compared with is now the original as it was left. All of it is found out from the
 * manifest and what is on disk, and may be done again after a crash.
 *
 * Order of writes, after those of the landing (manifest.ts): `left` (landed-times.ts); what the tree needs to
 * go back, in the landing's folder; one flush; the tree's new base, which is on disk before it takes the
 * place of the old; one flush. The way back: the tree's old base, then `left`; one flush. `returning`, in the
 * landing's folder, is written when an undo is prepared: the folders that nobody else had changed by then.
 */
const POINTS = {
  returning: failpoint("part.note-folders"),
  flushNoted: failpoint("part.flush-noted"),
  flushSettled: failpoint("part.flush-settled"),
};
const RETURNING = "returning";

/** After it has landed, or was taken back. */
export async function rebaseAfterPart(
  part: LandedPart,
  tree: SandboxTree,
  direction: Direction,
): Promise<void> {
  // After a landing of all that was left, the sandbox is made anew when it is used again.
  if (!isLive(tree)) return;
  if (direction === "backward") takeBack(part, tree);
  else await rebaseOnLanded(part, tree);
  await flushPart(POINTS.flushSettled, part);
}

async function rebaseOnLanded(part: LandedPart, tree: SandboxTree): Promise<void> {
  new LandedTimes(part.workspace).remember([
    ...leftEntries(part),
    ...stillQuiet(part, part.manifest.part?.quiet ?? []),
  ]);
  tree.notePart?.(part);
  await flushPart(POINTS.flushNoted, part);
  tree.landPart?.(part);
}

/** After it was taken back; flushing is the caller's. */
export function takeBack(part: LandedPart, tree: SandboxTree): void {
  tree.takeBackPart?.(part);
  const bytes = readWhole(part.landing, RETURNING);
  const quiet = bytes === undefined ? [] : (parsed<readonly QuietFolder[]>(bytes) ?? []);
  new LandedTimes(part.workspace).remember([...stillQuiet(part, quiet)]);
}

/** Before it is taken back: sees that the sandbox can have it as work again. */
export function prepareReturn(part: LandedPart, tree: SandboxTree): void {
  const conflicts = tree.partConflicts?.(part) ?? [];
  if (conflicts.length > 0)
    throw new SandboxConflictError(conflicts, {
      message: `It can't be taken back, because the sandbox went on from what landed: ${conflicts[0]?.path}${conflicts.length > 1 ? ` and ${conflicts.length - 1} more` : ""}.`,
      hint: "Land these paths too, or throw the changes of the sandbox away with 'drydock plan rollback', and try again.",
    });
  const { barrier } = tree;
  const asBefore = new LandedTimes(part.workspace).over(part.asBefore);
  const quiet = quietFolders(part.original, part.manifest.entries, { barrier, asBefore });
  writeWhole(POINTS.returning, part.landing, RETURNING, Buffer.from(JSON.stringify(quiet)));
}

async function flushPart(point: typeof POINTS.flushNoted, { workspace, landing }: LandedPart): Promise<void> {
  await flush(point, workspace, () => [
    ...workspace
      .names()
      .filter((name) => name !== "landings")
      .map((name) => ({ parent: workspace, name })),
    ...landing.names().map((name) => ({ parent: landing, name })),
    { parent: landing, name: ROOT_PATH },
    { parent: workspace, name: ROOT_PATH },
  ]);
}

/**
 * Everything that came into the original, deep in folders too, and what else moved with it because it is the
 * same file.
 */
function* leftEntries({ original, landing, manifest, isAsLeft }: LandedPart): Generator<Facts> {
  using slots = Slots.open(landing);
  for (const [slot, entry] of manifest.entries.entries()) {
    const old = slots.facts(slot);
    // Another of its names may still be in the original.
    if (old !== undefined && old.kind !== "directory" && old.nlink > 1) yield old;
    if (entry.operation === "delete" || !isAsLeft(entry)) continue;
    if (entry.operation !== "metadata") yield* factsBelow(original, entry.path);
    else if (entry.before?.kind !== "directory") yield* factsAt(original, entry.path);
  }
  for (const { path } of manifest.anchors) yield* factsAt(original, path);
}

function* factsAt(original: Folder, path: string): Generator<Facts> {
  const facts = original.factsBelow(path);
  if (facts !== undefined) yield facts;
}

/** Without recursion, because folders may be very deep. */
function* factsBelow(original: Folder, top: string): Generator<Facts> {
  const waiting = [top];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const [facts] = factsAt(original, path);
    if (facts === undefined) continue;
    yield facts;
    using folder = facts.kind === "directory" ? original.openBelowIfThere(path) : undefined;
    for (const name of folder?.names() ?? []) waiting.push(joinPath(path, name));
  }
}

/**
 * Those that are still as they were but for us. A change of metadata that was part of the landing is ours as
 * well.
 */
function* stillQuiet({ original, manifest }: LandedPart, folders: readonly QuietFolder[]): Generator<Facts> {
  const own = new Set(
    manifest.entries.filter(({ operation }) => operation === "metadata").map(({ path }) => path),
  );
  for (const { path, mode, uid, gid } of folders) {
    using folder = original.openBelowIfThere(path);
    const facts = folder?.ownFacts();
    const same = facts !== undefined && facts.mode === mode && facts.uid === uid && facts.gid === gid;
    if (facts !== undefined && (same || own.has(path))) yield facts;
  }
}
