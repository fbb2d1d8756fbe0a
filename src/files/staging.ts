import { baseName, joinPath, parentPath, ROOT_PATH } from "../core/byte-path.ts";
import { SandboxConflictError } from "../core/errors.ts";
import { closeBelow } from "../system/closed-entries.ts";
import { type Facts, type Identity, identityOf, sameIdentity, type Time } from "../system/facts.ts";
import { failpoint } from "../system/failpoints.ts";
import { isOpenForWriting } from "../system/file-data.ts";
import type { Folder } from "../system/folder.ts";
import { closeFile } from "../system/handles.ts";
import { folderHolders } from "../system/holders.ts";
import { parsed, readWhole, writeWhole } from "../system/whole-file.ts";
import { readXattrs, readXattrsOfOpen, type Xattrs } from "../system/xattrs.ts";
import { assertClockWentOn, takeBarrier } from "./barrier.ts";
import type { TreeEntry } from "./change-set.ts";
import { anchorConflicts, checkConflicts } from "./conflicts.ts";
import { copyEntry, type LinkMap } from "./copy-tree.ts";
import type { LandingRules } from "./landing-policy.ts";
import { findMarks, freeOfMarks, type MarkedPath, markAgain } from "./layer-traces.ts";
import { type EntryIdentity, encodeManifest, entryIdentity, type Manifest } from "./manifest.ts";
import { moveEntry } from "./move-entry.ts";
import { assertLinkable, findObstacles } from "./obstacles.ts";
import { OpenParent } from "./open-parent.ts";
import { runAtOnce } from "./pace.ts";
import { quietFolders } from "./quiet-folders.ts";
import { removeTree } from "./remove-tree.ts";
import { Slots, slotName } from "./slots.ts";
import { makeBallast, manifestEntry, plannedFolderTimes } from "./staged-manifest.ts";
import { comesIn, type StagingInput } from "./staging-input.ts";
import { Survey, type SurveyedEntry } from "./survey.ts";

/**
 * The first half of the exchange transaction: everything that can fail. When `stage` has returned and its file system has been flushed,
 * the landing needs nothing but renames. The original is not touched here. manifest.ts describes the files and the order of writes.
 */
export interface Staged {
  readonly digest: string;
  readonly entries: number;
}

/** What was taken out of the sandbox, so that it can be put back. */
interface StagingRecord {
  /** With the mode of a read-only folder, which is opened up for its move. */
  readonly moved: readonly {
    readonly slot: number;
    readonly path: string;
    readonly is?: Identity;
    readonly mode?: number;
  }[];
  readonly folders: readonly { readonly path: string; readonly mtime: Time; readonly atime: Time }[];
  /** Only of a layer. */
  readonly marked?: readonly MarkedPath[];
}

const POINTS = {
  record: failpoint("stage.record"),
  move: failpoint("stage.take-out"),
  putBack: failpoint("stage.put-back"),
  mode: failpoint("stage.folder-mode"),
  folderTimes: failpoint("stage.folder-times"),
  discard: failpoint("stage.discard"),
  manifest: failpoint("stage.manifest"),
};

export const MANIFEST = "manifest";
const RECORD = "staging";

/** Stages a landing; null if there is nothing to land. Throws `SandboxConflictError` or what else is in the way. */
export function stage(input: StagingInput): Staged | null {
  // Before the look for conflicts: what a rival changes after that look has to show up as later than this.
  const barrier = takeBarrier(input.landing);
  assertClockWentOn(input.barrier, barrier);
  const { conflicts, entries } = checkConflicts(
    input,
    input.changes.entries.filter((entry) => entryLands(entry, input.rules)),
  );
  if (conflicts.length > 0) throw new SandboxConflictError(conflicts);
  if (entries.length === 0 && input.changes.folderTimes.length === 0) return null;
  const unlock = findObstacles(input.original, entries);
  const surveyed = new Survey(input.sandbox, input.rules, input.changes.anchors, canMove(input)).decide(
    entries.map(({ entry }) => entry),
  );
  const anchors = linkedAnchors(input, surveyed);
  const folderTimes = plannedFolderTimes(input, surveyed);
  using slots = Slots.make(input.landing, surveyed.length);
  const staged = fillSlots(input, surveyed, slots);
  // With their modes, and before the barrier that tells what was changed after the staging.
  closeBelow(input.landing.path);
  const nowByPath = new Map(entries.map(({ entry, now }) => [entry.path, now]));
  const manifest: Manifest = {
    version: 1,
    transaction: input.transaction,
    entries: surveyed.map((item, slot) =>
      manifestEntry(input, item, nowByPath.get(item.entry.path), () => staged.get(slot) ?? identityIn(slots, slot)),
    ),
    anchors,
    folderTimes,
    unlock,
    root: identityOf(input.original.ownFacts()),
    ...(input.leavesRivals === true && { leavesRivals: true }),
    ...(input.isPart === true && {
      part: {
        quiet: quietFolders(
          input.original,
          surveyed.map(({ entry }) => entry),
          input,
        ),
      },
    }),
    barrier,
    stagedAt: takeBarrier(input.landing),
  };
  makeBallast(input.landing, manifest, "forward");
  const { bytes, digest } = encodeManifest(manifest);
  writeWhole(POINTS.manifest, input.landing, MANIFEST, bytes);
  return { digest, entries: manifest.entries.length };
}

/**
 * Puts back into the sandbox what a staging took out, finished or not, and removes the rest, unless something of it is kept. What a rival made of it after it had landed is kept in its slot; the
 * sandbox gets a copy, because without anything there the plan would delete it.
 */
export function unstage(sandbox: Folder, landing: Folder, kept: ReadonlySet<number>): void {
  const record = readRecord(landing);
  using slots = Slots.openIfThere(landing);
  if (slots !== undefined) {
    for (const { slot, path, is, mode } of record?.moved ?? unrecorded(slots)) {
      if (kept.has(slot)) {
        copyBack(sandbox, slots, slot, path);
        continue;
      }
      const there = slots.facts(slot);
      // A copy that was made because somebody had the file open is not what was taken out.
      if (there !== undefined && is !== undefined && !sameIdentity(there, is)) continue;
      // With nothing there it was not taken out, or is back already; its mode may not be, either way.
      putBack(sandbox, slots, slot, path);
      if (mode !== undefined) restoreMode(sandbox, path, mode);
    }
    markAgain(sandbox, record?.marked ?? []);
    restoreFolderTimes(sandbox, record?.folders ?? []);
  }
  if (kept.size > 0) return;
  // With its manifest and without the rest it would look like a landing that had begun.
  removeTree(POINTS.discard, landing, MANIFEST);
  for (const name of landing.names()) removeTree(POINTS.discard, landing, name);
}

function copyBack(sandbox: Folder, slots: Slots, slot: number, path: string): void {
  using parent = sandbox.openBelowIfThere(parentPath(path));
  if (parent === undefined || parent.facts(baseName(path)) !== undefined) return;
  runAtOnce(copyEntry(slots.in(slot), slotName(slot), parent, baseName(path), { data: "share" }, path));
}

function readRecord(landing: Folder): StagingRecord | undefined {
  const bytes = readWhole(landing, RECORD);
  if (bytes === undefined) return { moved: [], folders: [] };
  return parsed<StagingRecord>(bytes);
}

/** A power cut can leave the record empty but not what it spoke of: that goes back under names that say so. */
function unrecorded(slots: Slots): StagingRecord["moved"] {
  return slots.numbers().map((slot) => ({ slot, path: `taken-back-${slot}` }));
}

/** The files of the original that are to get new names. Refuses if one can't. */
function linkedAnchors(input: StagingInput, surveyed: readonly SurveyedEntry[]): Manifest["anchors"] {
  const links = surveyed.flatMap(({ entry, linkTo, innerLinks }) => [
    ...(linkTo === undefined ? [] : [{ path: entry.path, linkTo }]),
    ...innerLinks.map((link) => ({ path: joinPath(entry.path, link.path), linkTo: link.linkTo })),
  ]);
  const conflicts = anchorConflicts(input, links);
  if (conflicts.length > 0) throw new SandboxConflictError(conflicts);
  const paths = [...new Set(links.map(({ linkTo }) => linkTo))];
  return paths.flatMap((path) => {
    assertLinkable(input.original, path);
    const facts = input.original.factsBelow(path);
    return facts === undefined ? [] : [{ path, before: entryIdentity(facts) }];
  });
}

/** A sandbox that is a subvolume of btrfs is a file system of its own for renames, but shares blocks with the original's. */
function canMove({ sandbox, landing, isPart }: StagingInput): boolean {
  return isPart !== true && sandbox.ownFacts().device === landing.ownFacts().device;
}

function entryLands(entry: TreeEntry, rules: LandingRules): boolean {
  return entry.after === undefined || rules.lands(entry.path, entry.after);
}

/** Gives what is known of the slots already, of which nothing changes any more. */
function fillSlots(
  input: StagingInput,
  surveyed: readonly SurveyedEntry[],
  slots: Slots,
): ReadonlyMap<number, EntryIdentity> {
  const moved = surveyed.flatMap(({ entry, way }, slot) =>
    comesIn(entry) && way === "move"
      ? [
          {
            slot,
            path: entry.path,
            ...(entry.after !== undefined && { is: identityOf(entry.after) }),
            ...readOnlyMode(entry),
          },
        ]
      : [],
  );
  const paths = moved.map(({ path }) => path);
  const record: StagingRecord = {
    moved,
    folders: foldersOf(input.sandbox, paths),
    ...(input.isLayer && { marked: findMarks(input.sandbox, paths) }),
  };
  // Without one nothing is to be put back. It is on disk before anything is taken out: nothing else knows where that belongs.
  if (moved.length > 0)
    writeWhole(POINTS.record, input.landing, RECORD, Buffer.from(JSON.stringify(record)), "flushed");
  const links: LinkMap = new Map();
  using parents = new OpenParent(input.sandbox);
  surveyed.forEach((item, slot) => {
    if (comesIn(item.entry) && item.way !== "link")
      fillSlot(input, item, parents.need(item.entry.path), slots.in(slot), slotName(slot), links);
    input.tick();
  });
  const seen = copyWhatIsHeld(input, surveyed, slots, links);
  if (input.isLayer) for (const { slot } of moved) freeOfMarks(slots.in(slot), slotName(slot));
  restoreFolderTimes(input.sandbox, record.folders);
  return input.isLayer ? new Map() : seen;
}

function fillSlot(
  input: StagingInput,
  item: SurveyedEntry,
  parent: Folder,
  to: Folder,
  toName: string,
  links: LinkMap,
): void {
  if (item.way === "move") moveEntry(POINTS.move, parent, baseName(item.entry.path), to, toName);
  else copyIntoSlot(input, item, parent, to, toName, links);
}

function copyIntoSlot(
  input: StagingInput,
  item: SurveyedEntry,
  parent: Folder,
  to: Folder,
  toName: string,
  links: LinkMap,
): void {
  const { path } = item.entry;
  const later = new Set(item.innerLinks.map((link) => joinPath(path, link.path)));
  const options = {
    data: "share",
    links,
    filter: (at: string, facts: Facts) => !later.has(at) && input.rules.lands(at, facts),
    mode: (at: string, facts: Facts) => input.rules.mode(at, facts),
    xattrs: (at: string, xattrs: Xattrs) => input.rules.xattrs(at, xattrs),
  } as const;
  runAtOnce(copyEntry(parent, baseName(path), to, toName, options, path));
}

/**
 * What somebody still has open for writing, or works in, would be written to after it has landed: a copy of it lands instead, and it goes
 * back into the sandbox. This is looked at after the move, because from then on nobody can open it by its path. Gives what was seen of what stays.
 */
function copyWhatIsHeld(
  input: StagingInput,
  surveyed: readonly SurveyedEntry[],
  slots: Slots,
  links: LinkMap,
): ReadonlyMap<number, EntryIdentity> {
  const seen = new Map<number, EntryIdentity>();
  const moved = surveyed
    .map((item, slot) => ({ item, slot }))
    .filter(({ item }) => comesIn(item.entry) && item.way === "move");
  const hasFolders = moved.some(({ item }) => item.entry.after?.kind === "directory");
  const held = hasFolders ? folderHolders(slots.path).map(({ path }) => path) : [];
  for (const { item, slot } of moved) {
    const label = slots.label(slot);
    const workedIn = held.some((path) => path === label || path.startsWith(`${label}/`));
    const facts = slots.facts(slot);
    if (facts === undefined) continue;
    if (!workedIn && !mustBeCopied(slots.in(slot), slotName(slot), facts, item.entry.path, input.rules)) {
      seen.set(slot, entryIdentity(facts));
      continue;
    }
    putBack(input.sandbox, slots, slot, item.entry.path);
    using parent = input.sandbox.openBelow(parentPath(item.entry.path));
    copyIntoSlot(input, { ...item, way: "copy" }, parent, slots.in(slot), slotName(slot), links);
  }
  return seen;
}

/** Nobody can reach it by its path any more, so what is true of it now stays true: no writer, and nothing that may not land. */
function mustBeCopied(parent: Folder, name: string, facts: Facts, path: string, rules: LandingRules): boolean {
  if (facts.kind === "directory") {
    using folder = parent.openChild(name);
    return folder.names().some((child) => {
      const inside = folder.facts(child);
      return inside !== undefined && mustBeCopied(folder, child, inside, joinPath(path, child), rules);
    });
  }
  if (facts.kind !== "file") return !rules.landsAsIs(path, facts, () => readXattrs(parent, name));
  const fd = parent.openFile(name);
  try {
    return !rules.landsAsIs(path, facts, () => readXattrsOfOpen(fd, parent, name)) || isOpenForWriting(fd);
  } finally {
    closeFile(fd);
  }
}

/** If somebody has made something new at its old place meanwhile, both are kept; if its folder is gone, it goes to the top. */
function putBack(sandbox: Folder, slots: Slots, slot: number, path: string): void {
  if (slots.facts(slot) === undefined) return;
  using parent = sandbox.openBelowIfThere(parentPath(path));
  const name = baseName(path);
  const isFree = parent !== undefined && parent.facts(name) === undefined;
  const free = isFree ? name : `${name}.taken-back-${process.hrtime.bigint()}`;
  moveEntry(POINTS.putBack, slots.in(slot), slotName(slot), parent ?? sandbox, free);
}

function readOnlyMode({ after }: TreeEntry): { readonly mode?: number } {
  const OWNER_WRITE = 0o200;
  return after?.kind === "directory" && (after.mode & OWNER_WRITE) === 0 ? { mode: after.mode } : {};
}

/** A crash between opening a folder up and closing it again, before its move or after it, leaves a wrong mode. */
function restoreMode(sandbox: Folder, path: string, mode: number): void {
  using parent = sandbox.openBelowIfThere(parentPath(path));
  const now = parent?.facts(baseName(path));
  if (now?.kind === "directory" && now.mode !== mode) parent?.setMode(POINTS.mode, baseName(path), mode);
}

function foldersOf(sandbox: Folder, paths: readonly string[]): StagingRecord["folders"] {
  return [...new Set(paths.map(parentPath))].map((path) => {
    using folder = sandbox.openBelow(path);
    const { mtime, atime } = folder.ownFacts();
    return { path, mtime, atime };
  });
}

/** Taking entries out and in moved the folders' times, which are part of the work. */
function restoreFolderTimes(sandbox: Folder, folders: StagingRecord["folders"]): void {
  for (const { path, mtime, atime } of folders) {
    using folder = sandbox.openBelowIfThere(path);
    folder?.setTimes(POINTS.folderTimes, ROOT_PATH, { mtime, atime });
  }
}

function identityIn(slots: Slots, slot: number): EntryIdentity | undefined {
  const facts = slots.facts(slot);
  return facts === undefined ? undefined : entryIdentity(facts);
}
