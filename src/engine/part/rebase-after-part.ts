import { SandboxConflictError } from "../../core/errors/errors.ts";
import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { flush } from "../../system/data/flush.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { LandedPart } from "../landing/landed-part.ts";
import type { Direction, QuietFolder } from "../manifest/manifest.ts";
import { quietFolders } from "../manifest/quiet-folders.ts";
import { Slots } from "../manifest/slots.ts";
import { isLive, type MovableBase, type SandboxTree } from "../sandbox/sandbox-tree.ts";
import { walkFrom } from "../tree/walk.ts";

/**
 * Moves the base of a sandbox after a part of its work has landed, or was taken back. The sandbox shows the
 * same content as before, but is now compared with the original as the landing left it. Everything is derived
 * from the manifest and the files on disk, so any step may be repeated after a crash.
 *
 * Order of writes after a landing (which ends as in manifest.ts):
 * 1. `left` in the workspace (own-touches.ts).
 * 2. `rest` in the landing's folder: the earlier base of the landed paths, as JSON. Each kind of tree has a
 *    format of its own (`MovableBase.earlier`).
 * 3. A flush.
 * 4. The tree's new base, flushed before it replaces the old one.
 * 5. A flush.
 *
 * Order of writes for the way back:
 * 1. When the undo is prepared, `returning` in the landing's folder: the folders that no other writer has
 *    changed.
 * 2. After the undo, the tree's old base.
 * 3. `left` in the workspace.
 * 4. A flush.
 */
const POINTS = {
  earlier: failpoint("part.note-base"),
  returning: failpoint("part.note-folders"),
  flushNoted: failpoint("part.flush-noted"),
  flushSettled: failpoint("part.flush-settled"),
};
const RETURNING = "returning";
const REST = "rest";

/** Called after the part has landed, or was taken back. */
export async function rebaseAfterPart(
  part: LandedPart,
  tree: SandboxTree,
  direction: Direction,
): Promise<void> {
  // After the whole rest has landed, the sandbox is made anew at its next use.
  if (!isLive(tree)) return;
  if (direction === "backward") await takeBack(part, tree);
  else await rebaseOnLanded(part, tree);
  await flushPart(POINTS.flushSettled, part);
}

async function rebaseOnLanded(part: LandedPart, tree: SandboxTree): Promise<void> {
  part.touches.noteLanded([...landedFacts(part), ...stillQuiet(part, part.manifest.part?.quiet ?? [])]);
  const base = await tree.base();
  const earlier = readRest(part) ?? writeRest(part, base);
  await flushPart(POINTS.flushNoted, part);
  base.land(part, earlier);
}

/** Called after the part was taken back. The caller flushes. */
export async function takeBack(part: LandedPart, tree: SandboxTree): Promise<void> {
  const earlier = readRest(part);
  // Without it, the part never became the base.
  if (earlier !== undefined) (await tree.base()).takeBack(part, earlier);
  const bytes = readWhole(part.landing, RETURNING);
  const quiet = bytes === undefined ? [] : (parsed<readonly QuietFolder[]>(bytes) ?? []);
  part.touches.noteLanded(stillQuiet(part, quiet));
}

/** Called before the part is taken back: refuses if the sandbox can't have the part as work again. */
export async function prepareReturn(part: LandedPart, tree: SandboxTree): Promise<void> {
  const conflicts = (await tree.base()).conflicts?.(part) ?? [];
  if (conflicts.length > 0)
    throw new SandboxConflictError(conflicts, {
      message: `It can't be taken back, because the sandbox has changed it since: ${conflicts[0]?.path}${conflicts.length > 1 ? ` and ${conflicts.length - 1} more` : ""}.`,
      hint: "Land these paths too, or roll the plan back, and try again.",
    });
  const { entries, folderTimes } = part.manifest;
  const times = folderTimes.map(({ path }) => path);
  const quiet = quietFolders(part.original, entries, times, tree.age);
  writeWhole(POINTS.returning, part.landing, RETURNING, Buffer.from(JSON.stringify(quiet)));
}

function readRest({ landing }: LandedPart): unknown {
  const bytes = readWhole(landing, REST);
  return bytes === undefined ? undefined : parsed(bytes);
}

/** Only the first time: later the base has moved. */
function writeRest(part: LandedPart, base: MovableBase): unknown {
  const earlier = base.earlier(part);
  writeWhole(POINTS.earlier, part.landing, REST, Buffer.from(JSON.stringify(earlier)));
  return earlier;
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
 * Every entry that the landing put into the original, at any depth, and every other name of those files whose
 * change time moved with them.
 */
function* landedFacts({ original, landing, manifest, isAsLanded }: LandedPart): Generator<Facts> {
  using slots = Slots.open(landing);
  for (const [slot, entry] of manifest.entries.entries()) {
    const old = slots.facts(slot);
    // Another name of this file may still be in the original.
    if (old !== undefined && old.kind !== "directory" && old.nlink > 1) yield old;
    if (entry.operation === "delete" || !isAsLanded(entry)) continue;
    if (entry.operation !== "metadata") for (const { facts } of walkFrom(original, entry.path)) yield facts;
    else if (entry.before?.kind !== "directory") yield* factsAt(original, entry.path);
  }
  for (const { path } of manifest.anchors) yield* factsAt(original, path);
}

function* factsAt(original: Folder, path: string): Generator<Facts> {
  const facts = original.factsBelow(path);
  if (facts !== undefined) yield facts;
}

/** The folders with unchanged mode and owner, or whose metadata this landing has set itself. */
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
