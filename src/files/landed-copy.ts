import { baseName, joinPath, parentPath, ROOT_PATH } from "../core/byte-path.ts";
import { type Facts, sameTime, type Time } from "../system/facts.ts";
import { failpoint } from "../system/failpoints.ts";
import type { Folder } from "../system/folder.ts";
import { readXattrs } from "../system/xattrs.ts";
import { isAfter } from "./barrier.ts";
import type { Baseline } from "./baseline.ts";
import type { CopiedEntry } from "./copy-tree.ts";
import type { LandedPart } from "./landed-part.ts";
import type { ManifestEntry } from "./manifest.ts";
import { entriesAt, rebased } from "./rebased-baseline.ts";
import { parsed, readSmallFile, writeSmallFile } from "./small-file.ts";

/**
 * A copied tree of which a part has landed: the tree is as it was, and its baseline says of the paths that landed that the original and the copy are
 * what they are now. `rest`, in the landing's folder, is what the baseline said before: JSON, a list of its entries.
 */
const NOTE = failpoint("part.note-baseline");
const REST = "rest";
/** No file has it: what is not as it was left counts as replaced. */
const NOBODY = { ino: 0, btime: [0, 0] as Time };

export function noteBaseline({ landing, manifest }: LandedPart, baseline: Baseline): void {
  if (readRest(landing) !== undefined) return;
  const contents = [...entriesAt(baseline, contentPaths(manifest.entries))];
  const others = manifest.entries.flatMap(({ path, operation }) => {
    const index = operation === "metadata" ? baseline.find(path) : undefined;
    return index === undefined ? [] : [baseline.entry(index, path)];
  });
  writeSmallFile(NOTE, landing, REST, Buffer.from(JSON.stringify([...contents, ...others])));
}

export function landedBaseline(part: LandedPart, baseline: Baseline, own: Folder): Baseline {
  const { manifest } = part;
  const gone = new Set(contentPaths(manifest.entries));
  const changed = new Map<string, CopiedEntry>();
  const come: CopiedEntry[] = [];
  for (const entry of manifest.entries) {
    if (entry.operation === "metadata") for (const now of nowAt(part, own, entry)) changed.set(entry.path, now);
    else if (entry.operation !== "delete") come.push(...nowBelow(part, own, entry));
  }
  const times = new Map(manifest.folderTimes.map(({ path, before, after }) => [path, { from: before, to: after }]));
  return rebased(baseline, { gone, come, become: (entry) => withTime(changed.get(entry.path) ?? entry, times) });
}

/** Undefined if the part had not become the base. */
export function returnedBaseline({ landing, manifest }: LandedPart, baseline: Baseline): Baseline | undefined {
  const rest = readRest(landing);
  if (rest === undefined) return undefined;
  const gone = new Set(contentPaths(manifest.entries));
  const itself = new Set(manifest.entries.filter(({ operation }) => operation === "metadata").map(({ path }) => path));
  const changed = new Map(rest.filter(({ path }) => itself.has(path)).map((entry) => [entry.path, entry]));
  const come = rest.filter(({ path }) => !itself.has(path));
  const times = new Map(manifest.folderTimes.map(({ path, before, after }) => [path, { from: after, to: before }]));
  return rebased(baseline, { gone, come, become: (entry) => withTime(changed.get(entry.path) ?? entry, times) });
}

function readRest(landing: Folder): readonly CopiedEntry[] | undefined {
  const bytes = readSmallFile(landing, REST);
  return bytes === undefined ? undefined : parsed<readonly CopiedEntry[]>(bytes);
}

function contentPaths(entries: readonly ManifestEntry[]): string[] {
  return entries.filter(({ operation }) => operation !== "metadata").map(({ path }) => path);
}

function withTime(
  entry: CopiedEntry,
  times: ReadonlyMap<string, { readonly from: Time; readonly to: Time }>,
): CopiedEntry {
  const time = times.get(entry.path);
  if (time === undefined || !sameTime(entry.original.mtime, time.from)) return entry;
  return { ...entry, original: { ...entry.original, mtime: time.to } };
}

/** An entry of the tree with all that is in it, as far as it is in the original too. */
function* nowBelow(part: LandedPart, own: Folder, entry: ManifestEntry): Generator<CopiedEntry> {
  const waiting = [entry.path];
  const isAsLeft = part.isAsLeft(entry);
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    const [now] = nowAt(part, own, { ...entry, path }, isAsLeft);
    if (now === undefined) continue;
    yield now;
    using folder = now.copy.kind === "directory" ? own.openBelowIfThere(path) : undefined;
    for (const name of folder?.names() ?? []) waiting.push(joinPath(path, name));
  }
}

function* nowAt(
  { original, manifest, ...part }: LandedPart,
  own: Folder,
  entry: ManifestEntry,
  isAsLeft = part.isAsLeft(entry),
): Generator<CopiedEntry> {
  const { path } = entry;
  const isRoot = path === ROOT_PATH;
  using there = original.openBelowIfThere(isRoot ? ROOT_PATH : parentPath(path));
  using here = own.openBelowIfThere(isRoot ? ROOT_PATH : parentPath(path));
  const name = isRoot ? ROOT_PATH : baseName(path);
  const [facts, copy] = [there?.facts(name), here?.facts(name)];
  if (there === undefined || here === undefined || copy === undefined) return;
  // What may not land is still only here; what somebody took away there since is not ours to say.
  if (facts === undefined && isAsLeft) return;
  const isThere = isAsLeft && facts?.kind === copy.kind;
  yield {
    path,
    original: isThere ? facts : { ...copy, ...NOBODY },
    copy: asStaged(copy, manifest.barrier),
    xattrs: readXattrs(isThere ? there : here, name),
    ...(copy.kind === "symlink" && { target: here.readLink(name) }),
  };
}

/** One that somebody may have changed after it was copied out has to be looked at. */
function asStaged(copy: Facts, barrier: Time): Facts {
  return isAfter(copy, barrier) ? { ...copy, ctime: NOBODY.btime } : copy;
}
