import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import { type Facts, sameTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import { isAfter } from "../base/barrier.ts";
import { NO_IDENTITY, NO_TIME } from "../base/base-facts.ts";
import type { LandedPart } from "../landing/landed-part.ts";
import type { Direction, Manifest, ManifestEntry } from "../manifest/manifest.ts";
import type { CopiedEntry } from "../tree/copy-tree.ts";
import { walkFrom } from "../tree/walk.ts";
import { isWritten } from "../tree/written-file.ts";

/** How the base of a tree moves when a part of the work has landed, or was taken back. */
export interface BaseMove {
  /** The paths whose base entries are gone, with all that was below them. */
  readonly gone: ReadonlySet<string>;
  /** The entries that are there instead, in any order. The contents of a folder are listed too. */
  readonly come: readonly CopiedEntry[];
  /** The entries that only got other metadata, by path. The contents of such a folder stay. */
  readonly changed: ReadonlyMap<string, CopiedEntry>;
  /** Gives a folder whose time the landing has set that time in the base, or the one before. */
  readonly withTime: (entry: CopiedEntry) => CopiedEntry;
}

/** The move to a part that has landed. `own` is the tree. */
export function landedMove(part: LandedPart, own: Folder): BaseMove {
  const { entries } = part.manifest;
  const changed = new Map<string, CopiedEntry>();
  const come: CopiedEntry[] = [];
  for (const entry of entries) {
    if (entry.operation === "metadata")
      for (const now of nowAt(part, own, entry)) changed.set(entry.path, now);
    else if (entry.operation !== "delete") for (const now of nowBelow(part, own, entry)) come.push(now);
  }
  const withTime = movedTimes(part.manifest, "forward");
  return { gone: new Set(contentPaths(entries)), come, changed, withTime };
}

/** The move back to these base entries, as `earlierEntries` found them. */
export function returnedMove({ manifest }: LandedPart, earlier: readonly CopiedEntry[]): BaseMove {
  const itself = new Set(metadataPaths(manifest.entries));
  const { changed = [], come = [] } = Object.groupBy(earlier, ({ path }) =>
    itself.has(path) ? "changed" : "come",
  );
  return {
    gone: new Set(contentPaths(manifest.entries)),
    come,
    changed: new Map(changed.map((entry) => [entry.path, entry])),
    withTime: movedTimes(manifest, "backward"),
  };
}

/** The base entries that the move to a part replaces. */
export function earlierEntries(
  { manifest: { entries } }: LandedPart,
  base: {
    readonly at: (path: string) => CopiedEntry | undefined;
    readonly below: (path: string) => Iterable<CopiedEntry>;
  },
): CopiedEntry[] {
  const contents = contentPaths(entries).flatMap((path) => [...base.below(path)]);
  return [...contents, ...metadataPaths(entries).flatMap((path) => base.at(path) ?? [])];
}

/** Where something else has come, or nothing. */
export function contentPaths(entries: readonly ManifestEntry[]): string[] {
  return entries.filter(({ operation }) => operation !== "metadata").map(({ path }) => path);
}

export function metadataPaths(entries: readonly ManifestEntry[]): string[] {
  return entries.filter(({ operation }) => operation === "metadata").map(({ path }) => path);
}

function movedTimes({ folderTimes }: Manifest, direction: Direction): BaseMove["withTime"] {
  const times = new Map(folderTimes.map((time) => [time.path, time]));
  return (entry) => {
    const time = times.get(entry.path);
    if (time === undefined) return entry;
    const [from, to] = direction === "forward" ? [time.before, time.after] : [time.after, time.before];
    if (!sameTime(entry.original.mtime, from)) return entry;
    return { ...entry, original: { ...entry.original, mtime: to } };
  };
}

/** An entry of the tree and everything below it, as far as the original has it too. */
function* nowBelow(part: LandedPart, own: Folder, entry: ManifestEntry): Generator<CopiedEntry> {
  const isAsLanded = part.isAsLanded(entry);
  const gone = isAsLanded ? new Map(goneSince(part, own, entry)) : new Map<string, CopiedEntry>();
  for (const { path } of walkFrom(own, entry.path))
    if (!gone.has(path)) yield* nowAt(part, own, { ...entry, path }, isAsLanded);
  yield* gone.values();
}

/**
 * What has landed and is no longer in the tree, or is of another kind there: after a crash, programs go on
 * before the base moves.
 */
function* goneSince(
  { original, manifest }: LandedPart,
  own: Folder,
  { path: top }: ManifestEntry,
): Generator<readonly [string, CopiedEntry]> {
  for (const { path, parent, name, facts } of walkFrom(original, top)) {
    const isOfAnotherWriter = path !== top && isAfter(facts, manifest.stagedAt);
    if (isOfAnotherWriter || own.factsBelow(path)?.kind === facts.kind) continue;
    const landed = {
      path,
      original: facts,
      copy: { ...facts, ctime: NO_TIME },
      xattrs: readXattrs(parent, name),
      ...(facts.kind === "symlink" && { target: parent.readLink(name) }),
    };
    yield [path, landed];
  }
}

function* nowAt(
  { original, manifest, ...part }: LandedPart,
  own: Folder,
  entry: ManifestEntry,
  isAsLanded = part.isAsLanded(entry),
): Generator<CopiedEntry> {
  const { path } = entry;
  using there = original.openBelowIfThere(parentPath(path));
  using here = own.openBelowIfThere(parentPath(path));
  const name = baseName(path);
  const [facts, copy] = [there?.facts(name), here?.facts(name)];
  if (there === undefined || here === undefined || copy === undefined) return;
  // An entry that may not land is still only in the tree. One that another writer removed from the original
  // since is not ours to report.
  if (facts === undefined && isAsLanded) return;
  const isThere = isAsLanded && facts?.kind === copy.kind;
  yield {
    path,
    original: isThere ? facts : { ...copy, ...NO_IDENTITY },
    copy: isCompared(entry, here, copy) ? { ...copy, ctime: NO_TIME } : suspectSince(manifest.barrier, copy),
    xattrs: readXattrs(isThere ? there : here, name),
    ...(copy.kind === "symlink" && { target: here.readLink(name) }),
  };
}

/**
 * Whether a diff always has to look at the content: not everything of the file has landed, or a program has
 * it open for writing. On some file systems, what a program writes to a mapped file moves no time.
 */
function isCompared({ partly, path }: ManifestEntry, here: Folder, { kind }: Facts): boolean {
  return partly === true || (kind === "file" && isWritten(here, baseName(path)));
}

/**
 * Marks the facts of a copy that may have changed at or after the barrier, so that a diff looks at it again.
 */
export function suspectSince(barrier: Time, copy: Facts): Facts {
  return isAfter(copy, barrier) ? { ...copy, ctime: NO_TIME } : copy;
}
