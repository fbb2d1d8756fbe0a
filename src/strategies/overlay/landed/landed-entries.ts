import { baseName, joinPath, nearest, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import { isAfter, takeBarrier } from "../../../engine/base/barrier.ts";
import { type BaseFacts, baseFacts, NO_IDENTITY, NO_TIME } from "../../../engine/base/base-facts.ts";
import type { ChangeSet } from "../../../engine/changes/change-set.ts";
import type { LandedPart } from "../../../engine/landing/landed-part.ts";
import type { ManifestEntry } from "../../../engine/manifest/manifest.ts";
import { changedParts } from "../../../engine/tree/metadata.ts";
import { OpenParent, readEntry } from "../../../engine/tree/open-parent.ts";
import { walkFrom } from "../../../engine/tree/walk.ts";
import { isWritten } from "../../../engine/tree/written-file.ts";
import { type Facts, identityKey, sameIdentity, sameTime } from "../../../system/calls/facts.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { closeFile } from "../../../system/calls/handles.ts";
import { writeXattrs } from "../../../system/calls/xattrs.ts";
import { digestOfFile } from "../../../system/data/file-content.ts";
import { parsed, readWhole, writeWhole } from "../../../system/data/whole-file.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { type BaseRecord, type Layers, lowerFacts } from "../base-record.ts";
import { keepingFolderTimes } from "../folder-times.ts";
import type { LandedEntry, OwnEntry } from "./landed-notes.ts";
import { movedFiles } from "./moved-files.ts";

/**
 * What lands while programs are inside is a copy: the upper layer must not lose entries beneath a mount. So
 * the entries stay there, above what is now the same in the lower layer, until the programs have ended. The
 * base record (base-record.ts) then says of each of them that it has landed, and how it looked; so what is
 * still as it landed is told from later work (settled-layer.ts).
 *
 * That the entries stay, and how they look, is decided before they are staged, while programs stand still:
 *
 *   staged   in the landing's folder: JSON, `Staged`, with everything that comes. Flushed with what is
 *            staged. With it, the entries stay, whatever happens before the base moves: a crash, the end
 *            of the programs, or both.
 */
const POINTS = {
  close: failpoint("landed.close-folder"),
  stage: failpoint("landed.note-staged"),
};
const STAGED = "staged";

/**
 * What the upper layer has when a landing is staged. The notes are those of the record (base-record.ts):
 * after a crash, programs may end between the landing and its note, and what that makes of the record can't
 * tell what landed from what another writer did.
 */
interface Staged extends StagedNotes {
  readonly entries: { readonly [path: string]: StagedEntry };
  /** The identities of files that programs have moved: their originals may go with what lands. */
  readonly moved: readonly string[];
  /** Paths whose original was gone already. */
  readonly vanished: readonly string[];
}

/** What the record said of the paths that land, when they were staged. */
interface StagedNotes {
  readonly notes: { readonly [path: string]: BaseFacts };
  readonly landed: { readonly [path: string]: LandedEntry };
}

/** An entry of the upper layer when it was staged. */
interface StagedEntry {
  readonly facts: BaseFacts;
  readonly digest?: string;
}

/**
 * Notes what is about to land, while the programs stand still. Called before it is staged: what changes
 * meanwhile, by a process outside that uses the mount, then has another time than its note.
 */
export function noteStaged(landing: Folder, { entries }: ChangeSet, layers: Layers): void {
  const { upper, marks, record } = layers;
  const staged: { [path: string]: StagedEntry } = {};
  const paths = new Set<string>();
  const barrier = takeBarrier(landing);
  for (const { path, operation, after } of entries) {
    paths.add(path);
    if (operation === "delete" || staysBelow(path, operation, after)) continue;
    if (after?.kind === "directory") closeNewFolder(layers, path);
    for (const entry of walkFrom(upper, path)) {
      const { parent, name, facts } = entry;
      if (marks.isMark(parent, name, facts)) continue;
      const digest = facts.kind === "file" && isWritten(parent, name) ? digestAt(parent, name) : undefined;
      staged[entry.path] = {
        facts: { ...baseFacts(parent, name, facts), ...(isAfter(facts, barrier) && { ctime: NO_TIME }) },
        ...(digest !== undefined && { digest }),
      };
    }
  }
  const moved = [...movedFiles(layers)].map(({ facts }) => identityKey(facts));
  const isStaged = (path: string) => nearest(paths, path) !== undefined;
  const content: Staged = {
    ...{ entries: staged, moved },
    vanished: record.notes(() => true).flatMap(([path, facts]) => (isVanished(facts) ? [path] : [])),
    notes: Object.fromEntries(record.notes(isStaged)),
    landed: Object.fromEntries([...record.landed].filter(([path]) => isStaged(path))),
  };
  writeWhole(POINTS.stage, landing, STAGED, Buffer.from(JSON.stringify(content)));
}

/** Whether the entries of a landing stay in the upper layer. */
export function stays(landing: Folder): boolean {
  return landing.facts(STAGED) !== undefined;
}

/** What the record said of paths that have landed, when they were staged. */
export function stagedNotes(landing: Folder, isOf: (path: string) => boolean): StagedNotes {
  const { notes, landed } = stagedIn(landing);
  const ofPart = <T>(all: { readonly [path: string]: T }) =>
    Object.fromEntries(Object.entries(all).filter(([path]) => isOf(path)));
  return { notes: ofPart(notes), landed: ofPart(landed) };
}

/** Notes in the record what has landed, once. May be repeated after a crash. */
export function noteLanded(part: LandedPart, { upper, lower, record, workspace }: Layers): void {
  const { entries, folderTimes, transaction } = part.manifest;
  if (record.hasLanding(transaction)) return;
  const comes = new Map(entries.filter(movesAll).map((entry) => [entry.path, entry]));
  const tops = new Set(comes.keys());
  const isOfPart = (path: string) => nearest(tops, path) !== undefined;
  record.forget(isOfPart);
  record.forgetLanded(isOfPart);
  using parents = new OpenParent(lower);
  const { entries: stagedEntries, moved, vanished } = stagedIn(part.landing);
  forgetVanished(upper, record, { moved: new Set(moved), before: new Set(vanished) });
  for (const [path, staged] of Object.entries(stagedEntries)) {
    const top = comes.get(nearest(tops, path) ?? ROOT_PATH);
    if (top !== undefined) noteEntry({ part, top, record }, path, staged, parents.of(path));
  }
  for (const entry of entries)
    if (!movesAll(entry)) noteStaying(part, entry, lower, record);
    else if (entry.operation === "delete") record.setLanded(entry.path, {});
  for (const { path, before, after } of folderTimes) record.moveTime(path, before, after);
  record.addLanding(transaction, moved);
  record.save(workspace, "flushed");
}

/** How an entry of the upper layer looks now. */
export function ownEntry(parent: Folder, name: string, facts: Facts): OwnEntry {
  const { kind, ino, btime, ctime } = facts;
  const digest = kind === "file" && isWritten(parent, name) ? digestAt(parent, name) : undefined;
  return { kind, ino, btime, ctime, ...(digest !== undefined && { digest }) };
}

/** Whether the entry is still the one that landed, unchanged. A folder is compared by what is in it. */
export function isAsItLanded(own: OwnEntry, parent: Folder, name: string, facts: Facts): boolean {
  if (!isSameEntry(own, facts) || facts.kind === "directory" || !sameTime(own.ctime, facts.ctime))
    return false;
  if (own.digest !== undefined) return digestAt(parent, name) === own.digest;
  return facts.kind !== "file" || !isWritten(parent, name);
}

export function isSameEntry(own: OwnEntry, facts: Facts): boolean {
  return own.kind === facts.kind && sameIdentity(own, facts);
}

interface LandingInto {
  readonly part: LandedPart;
  readonly top: ManifestEntry;
  readonly record: BaseRecord;
}

/** Notes one entry, with what the lower layer has there now; or, if that is another writer's, as gone. */
function noteEntry(
  { part, top, record }: LandingInto,
  path: string,
  { facts: staged, digest }: StagedEntry,
  lower: Folder | undefined,
): void {
  const { kind, ino, btime, ctime = staged.mtime } = staged;
  const there = lower?.facts(baseName(path));
  const isAsLanded = part.isAsLanded(top);
  // It may not land, for example a socket: it is still work.
  if (there === undefined && path !== top.path && isAsLanded) return;
  const own = { kind, ino, btime, ctime, ...(digest !== undefined && { digest }) };
  if (lower === undefined || there === undefined || !isOurs(part, top, path, there)) {
    record.set(path, { ...staged, ...NO_IDENTITY });
    record.setLanded(path, { own });
    return;
  }
  const base = lowerFacts(lower, baseName(path), there);
  record.set(path, base);
  // What did not land as it is, for example without its set-id bits, is compared again.
  const isWhole =
    kind === "directory" ||
    (base.kind === kind && base.size === staged.size && sameMetadata(base, staged, there));
  if (isWhole) record.setLanded(path, { own });
}

/** The original of a moved file that is gone since the staging went with what landed. */
function forgetVanished(
  upper: Folder,
  record: BaseRecord,
  { moved, before }: { readonly moved: ReadonlySet<string>; readonly before: ReadonlySet<string> },
): void {
  for (const [path, noted] of record.notes(() => true)) {
    if (!isVanished(noted) || before.has(path)) continue;
    const facts = upper.factsBelow(path);
    if (facts !== undefined && moved.has(identityKey(facts)))
      record.forget((candidate) => candidate === path);
  }
}

function isVanished({ ino }: BaseFacts): boolean {
  return ino === NO_IDENTITY.ino;
}

/** Whether the lower layer's entry is the one that landed. */
function isOurs(part: LandedPart, top: ManifestEntry, path: string, there: Facts): boolean {
  if (there.kind === "directory") return path !== top.path || isIdentity(there, top);
  if (path === top.path) return part.isAsLanded(top);
  return there.nlink > 1 || !isAfter(there, part.manifest.stagedAt);
}

function isIdentity(there: Facts, { after }: ManifestEntry): boolean {
  return after !== undefined && sameIdentity(there, after);
}

function sameMetadata(base: BaseFacts, staged: BaseFacts, there: Facts): boolean {
  return changedParts(staged, staged, { facts: there, xattrs: base.xattrs }).length === 0;
}

/** A folder whose metadata landed, or a file of which only some hunks did: the rest is still work. */
function noteStaying(part: LandedPart, entry: ManifestEntry, lower: Folder, record: BaseRecord): void {
  if (entry.partly === true) record.forgetLanded((path) => path === entry.path);
  const now = part.isAsLanded(entry) ? readEntry(lower, entry.path, lowerFacts) : undefined;
  if (now !== undefined) record.set(entry.path, now);
}

/** Whether the upper layer's entry stands for everything that landed at its path. */
function movesAll({ path, operation, before, partly }: ManifestEntry): boolean {
  return partly !== true && !staysBelow(path, operation, before);
}

function staysBelow(path: string, operation: string, facts: Pick<BaseFacts, "kind"> | undefined): boolean {
  return path === ROOT_PATH || (operation === "metadata" && facts?.kind === "directory");
}

/** Its mount must not show in it what has landed at its path. */
function closeNewFolder({ upper, lower, workspace, marks }: Layers, path: string): void {
  using folder = upper.openBelow(path);
  if (marks.isOpaque(folder)) return;
  keepingFolderTimes(workspace, { upper, lower }, [joinPath(path, "inside")], () => {
    writeXattrs(POINTS.close, folder, ROOT_PATH, marks.opaque, {});
  });
}

function stagedIn(landing: Folder): Staged {
  const bytes = readWhole(landing, STAGED);
  return (bytes && parsed<Staged>(bytes)) ?? { entries: {}, moved: [], vanished: [], notes: {}, landed: {} };
}

function digestAt(parent: Folder, name: string): string {
  const fd = parent.openFile(name);
  try {
    return digestOfFile(fd, parent.label(name));
  } finally {
    closeFile(fd);
  }
}
