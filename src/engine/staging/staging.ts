import { SandboxConflictError } from "../../core/errors/errors.ts";
import { parentPath } from "../../core/paths/byte-path.ts";
import { SeenFolders } from "../../core/paths/path-stack.ts";
import { closeBelow } from "../../system/calls/closed-entries.ts";
import { identityOf } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { isOnOverlay } from "../../system/mount/file-system.ts";
import { assertClockWentOn, takeBarrier } from "../base/barrier.ts";
import type { EntryOperation, TreeEntry } from "../changes/change-set.ts";
import { anchorConflicts } from "../checks/conflicts.ts";
import { assertLinkable } from "../checks/obstacles.ts";
import { entryIdentity, type ManifestHeader } from "../manifest/manifest.ts";
import { EntriesWriter } from "../manifest/manifest-entries.ts";
import { RenamedPaths } from "../manifest/renamed-paths.ts";
import { Slots } from "../manifest/slots.ts";
import { ENTRIES, writeManifest } from "../manifest/stored-manifest.ts";
import type { Steps } from "../work/pace.ts";
import { assertReachable } from "../workspace/workspace.ts";
import { CheckedEntries, type CheckedEntry } from "./checked-entries.ts";
import { findMarks } from "./layer-traces.ts";
import { SlotFiller, type StagesContent } from "./slot-filler.ts";
import { makeBallast, plannedFolderTimes, roomToCopyUp } from "./staged-manifest.ts";
import type { RenamingInput, StagingInput } from "./staging-input.ts";
import { type FolderTimes, readStagingRecord, StagingRecordWriter } from "./staging-record.ts";
import { Survey } from "./survey.ts";
import { restoreFolderTimes } from "./unstaging.ts";

/**
 * The first half of the exchange transaction: everything that can fail. After `stage` has returned and its
 * file system is flushed, the landing needs only renames. The original is not touched here. manifest.ts
 * describes the files and the order of writes.
 *
 * Each pass goes over the entries one at a time, in path order; none holds all of them. The passes run in
 * turns, so that an interruption is noticed and the user sees how far each one is.
 */
export interface StagedLanding {
  readonly digest: string;
  readonly entries: number;
}

const NONE: ReadonlySet<EntryOperation> = new Set();

/**
 * Stages a landing, or returns null if there is nothing to land. Throws `SandboxConflictError`, or the first
 * obstacle.
 */
export async function stage(given: StagingInput): Promise<StagedLanding | null> {
  const { work } = given;
  assertReachable(given.landing, given.original);
  // Taken before the check for conflicts: a later change by another writer has to be at or after this
  // barrier.
  const barrier = takeBarrier(given.landing);
  assertClockWentOn(given.age.barrier, barrier);
  const input = await renaming(given);
  const { changes } = input;
  using survey = new Survey(input, canMove(input));
  const entries = await work.run("checking", CheckedEntries.check(input, survey), changes.entries.length);
  if (entries.count === 0 && changes.folderTimes.length === 0) return null;
  survey.decide();
  const anchors = linkedAnchors(input, survey);
  await work.run("recording", recordMoves(input, entries, survey), entries.count);
  const filling = fillSlots(input, entries, survey, await contentStaging(input));
  const digest = await work.run("preparing", filling, entries.count);
  // Entries need their true modes before the barrier that tells what changed after the staging.
  closeBelow(input.landing.path);
  const header: Omit<ManifestHeader, "version"> = {
    transaction: input.transaction,
    anchors,
    unlock: entries.unlocks,
    root: identityOf(input.original.ownFacts()),
    ...(input.leavesOthers === true && { leavesRivals: true }),
    ...(await partIn(input, entries)),
    barrier,
    stagedAt: takeBarrier(input.landing),
  };
  makeBallast(input.landing, added(entries), roomToCopyUp(input.original, entries));
  return { digest: writeManifest(input.landing, header, digest), entries: entries.count };
}

/**
 * The input with its renamed folders. A part leaves the sandbox in use, whose base then moves path by path.
 * On an overlay, folders of a lower layer can't be renamed. Copied trees can't keep every owner, so a
 * comparison with them is not exact.
 */
async function renaming(given: StagingInput): Promise<RenamingInput> {
  const { isLayer, isPart, original, changes, work } = given;
  const folders = Iterator.from(changes.entries).filter(isWholeFolder);
  const operations = isLayer && isPart !== true ? new Set(folders.map(({ operation }) => operation)) : NONE;
  const mayRename = operations.has("add") && operations.has("delete") && !isOnOverlay(original);
  if (!mayRename) return { ...given, renames: new RenamedPaths([]) };
  const { withRenames } = await import("./renamed-folders.ts");
  return await work.run("comparing", withRenames(given));
}

/** What the manifest of a part has besides. */
async function partIn(
  { isPart, original, age, changes }: StagingInput,
  entries: CheckedEntries,
): Promise<Pick<ManifestHeader, "part">> {
  if (isPart !== true) return {};
  const { quietFolders } = await import("../manifest/quiet-folders.ts");
  const all = [...entries].map(({ entry }) => entry);
  const times = Iterator.from(changes.folderTimes).map(({ path }) => path);
  return { part: { quiet: quietFolders(original, all, times, age) } };
}

/** The files of the original that get new names. Refuses a file that can't. */
function linkedAnchors(input: StagingInput, survey: Survey): ManifestHeader["anchors"] {
  const links = survey.links();
  const conflicts = anchorConflicts(input, links);
  if (conflicts.length > 0) throw new SandboxConflictError(conflicts);
  const paths = [...new Set(links.map(({ linkTo }) => linkTo))];
  return paths.flatMap((path) => {
    assertLinkable(input.original, path);
    const facts = input.original.factsBelow(path);
    return facts === undefined ? [] : [{ path, before: entryIdentity(facts) }];
  });
}

/** A btrfs subvolume is a file system of its own for renames, but can share blocks with the original's. */
function canMove({ sandbox, landing, isPart }: StagingInput): boolean {
  return isPart !== true && sandbox.ownFacts().device === landing.ownFacts().device;
}

/** Records the entries that will be taken out of the sandbox, if there are any. */
function* recordMoves(input: StagingInput, entries: Iterable<CheckedEntry>, survey: Survey): Steps {
  const moved = function* (): Generator<CheckedEntry> {
    for (const checked of entries)
      if (checked.comesIn && survey.planOf(checked.entry, checked.slot).method === "move") yield checked;
  };
  if (moved().next().done === true) return;
  using record = new StagingRecordWriter(input.landing);
  const folders = new SeenFolders();
  for (const { entry, slot } of moved()) {
    const { path, after } = entry;
    record.addMoved({
      slot,
      path,
      ...(after !== undefined && { is: identityOf(after) }),
      ...readOnlyMode(entry),
    });
    if (input.isLayer) findMarks(input.sandbox, path, (marked) => record.addMarked(marked));
    const folder = parentPath(path);
    if (folders.meet(folder)) record.addFolder(timesOf(input.sandbox, folder));
    yield 1;
  }
  record.endFlushed();
}

function timesOf(sandbox: Folder, path: string): FolderTimes {
  using folder = sandbox.openBelow(path);
  const { mtime, atime } = folder.ownFacts();
  return { path, mtime, atime };
}

function readOnlyMode({ after }: TreeEntry): { readonly mode?: number } {
  const OWNER_WRITE = 0o200;
  return after?.kind === "directory" && (after.mode & OWNER_WRITE) === 0 ? { mode: after.mode } : {};
}

/** Fills the slots and writes the manifest's entries. Returns their digest. */
function* fillSlots(
  input: RenamingInput,
  entries: CheckedEntries,
  survey: Survey,
  stagesContent: StagesContent,
): Steps<string> {
  using slots = Slots.make(input.landing, entries.count);
  using writer = new EntriesWriter(input.landing, ENTRIES);
  using filler = new SlotFiller(input, slots, writer, stagesContent);
  const planOf = ({ entry, slot }: CheckedEntry) => survey.planOf(entry, slot);
  let hasFolders = false;
  for (const checked of entries) {
    filler.fill(checked, planOf(checked));
    hasFolders ||= isWholeFolder(checked.entry);
    yield 1;
  }
  filler.finish(entries, planOf);
  restoreFolderTimes(input.sandbox, readStagingRecord(input.landing)?.folders() ?? []);
  for (const times of plannedFolderTimes(input, entries)) writer.addFolderTimes(times);
  if (hasFolders) for (const change of input.changes.changes) writer.addChangedPath(change);
  return writer.end();
}

/** Loaded for a part with files that do not land as they are: most landings have none. */
async function contentStaging(input: StagingInput): Promise<StagesContent> {
  const { contents } = input;
  if (contents === undefined || contents.size === 0) return () => false;
  const { stageContent } = await import("./staged-content.ts");
  return (checked, slots) => {
    const chosen = contents.get(checked.entry.path);
    if (chosen !== undefined) stageContent(input, checked, slots, chosen);
    return chosen !== undefined;
  };
}

/** Whether an entry stands for everything in a folder. */
function isWholeFolder({ operation, before, after }: TreeEntry): boolean {
  return operation !== "metadata" && (before?.kind === "directory" || after?.kind === "directory");
}

function* added(entries: Iterable<CheckedEntry>): Generator<CheckedEntry> {
  for (const checked of entries) if (checked.entry.operation === "add") yield checked;
}
