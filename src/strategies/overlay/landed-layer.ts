import {
  baseName,
  foldersAbove,
  joinPath,
  nearest,
  parentPath,
  ROOT_PATH,
} from "../../core/paths/byte-path.ts";
import type { BaseFacts } from "../../engine/base/base-facts.ts";
import type { LandedPart } from "../../engine/landing/landed-part.ts";
import type { ManifestEntry } from "../../engine/manifest/manifest.ts";
import { moveEntry } from "../../engine/tree/move-entry.ts";
import { readEntry } from "../../engine/tree/open-parent.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { type BaseRecord, type Layers, lowerFacts } from "./base-record.ts";
import { keepingFolderTimes } from "./folder-times.ts";
import { stagedNotes, stays } from "./landed/landed-entries.ts";
import type { LandedEntry } from "./landed/landed-notes.ts";
import { forgetOrigins } from "./landed/moved-files.ts";
import type { LayerMarks } from "./layer-marks.ts";
import { LayerWriter } from "./layer-writing.ts";

/**
 * The upper layer after a part of the work has landed. The lower layer shows the part now, so the part's
 * entries leave the upper layer, with their marks, and wait in the landing's folder as `own/N`, where N is
 * their number in the manifest. If the part is taken back, they return unchanged. Folders keep their times in
 * both directions. docs/design/overlay-without-a-mount.md says why they do not stay.
 */
export interface EarlierLayer {
  /** Which names of the upper layer wait in which slot. */
  readonly names: readonly { readonly slot: number; readonly path: string }[];
  /** The notes on what they covered (base-record.ts). */
  readonly notes: { readonly [path: string]: BaseFacts };
  /**
   * Programs were inside, so the entries stay until these have ended (landed/landed-entries.ts): what had
   * landed of these paths before.
   */
  readonly landed?: { readonly [path: string]: LandedEntry };
}

const POINTS = {
  create: failpoint("part.create-own"),
  leave: failpoint("part.leave-layer"),
  clear: failpoint("part.clear-layer"),
  return: failpoint("part.return-to-layer"),
};
const OWN = "own";

export function earlierLayer({ landing, manifest }: LandedPart, layers: Layers): EarlierLayer {
  const { upper, record, marks } = layers;
  const isOf = isOfPart(manifest.entries);
  if (stays(landing)) return { names: [], ...stagedNotes(landing, isOf) };
  const notes = Object.fromEntries(record.notes(isOf));
  const names = manifest.entries.flatMap((entry, slot) =>
    leavesLayer(entry) ? upperNames(upper, marks, entry.path).map((path) => ({ slot, path })) : [],
  );
  return { names, notes };
}

export function landLayer(part: LandedPart, { names }: EarlierLayer, layers: Layers): void {
  const { landing, manifest } = part;
  const { upper, lower, workspace, record } = layers;
  using own = landing.ensureFolder(POINTS.create, OWN);
  const leave = () => {
    for (const { slot, path } of names) {
      using parent = upper.openBelowIfThere(parentPath(path));
      const isThere = own.facts(String(slot)) === undefined && parent?.facts(baseName(path)) !== undefined;
      if (isThere)
        moveEntry(
          POINTS.leave,
          { folder: parent, name: baseName(path) },
          { folder: own, name: String(slot) },
        );
    }
  };
  keepingFolderTimes(workspace, { upper, lower }, pathsOf(names), leave);
  forgetOrigins(layers);
  const { leave: gone, stay } = byPlace(manifest.entries);
  record.forget((path) => nearest(gone, path) !== undefined);
  for (const entry of stay) if (part.isAsLanded(entry)) noteNow(record, lower, entry.path);
  for (const { path, before, after } of manifest.folderTimes) record.moveTime(path, before, after);
  record.saveIfChanged(workspace, "flushed");
}

export function returnLayer(part: LandedPart, earlier: EarlierLayer, layers: Layers): void {
  const { landing } = part;
  const { upper, lower, workspace, record, marks } = layers;
  // Makes the folders that the upper layer no longer has.
  const writer = new LayerWriter(marks, record, workspace);
  using own = landing.openBelowIfThere(OWN);
  const names = own === undefined ? [] : earlier.names;
  const comeBack = () => {
    for (const { slot, path } of names) {
      if (own?.facts(String(slot)) === undefined) continue;
      writer.inFolder({ upper, lower }, path, ({ upper: parent }) => {
        // An entry that was copied up since, but not changed.
        removeTree(POINTS.clear, parent, baseName(path));
        moveEntry(
          POINTS.return,
          { folder: own, name: String(slot) },
          { folder: parent, name: baseName(path) },
        );
      });
    }
  };
  keepingFolderTimes(workspace, { upper, lower }, pathsOf(names), comeBack);
  returnNotes(part, earlier, layers);
}

/** Moves the record back to what it was before the part; the entries are in the layer. */
export function returnNotes(
  { manifest }: LandedPart,
  { notes, landed = {} }: EarlierLayer,
  { record, workspace }: Layers,
): void {
  const isOf = isOfPart(manifest.entries);
  record.forget(isOf);
  record.forgetLanded(isOf);
  for (const [path, facts] of Object.entries(notes)) record.set(path, facts);
  for (const [path, entry] of Object.entries(landed)) record.setLanded(path, entry);
  for (const { path, before, after } of manifest.folderTimes) record.moveTime(path, after, before);
  record.removeLanding(manifest.transaction);
  record.save(workspace, "flushed");
}

/**
 * A folder whose metadata landed stays in the layer, because of its contents, and a file of which some hunks
 * landed because of the others.
 */
export function leavesLayer({ path, operation, before, partly }: ManifestEntry): boolean {
  if (path === ROOT_PATH || partly === true) return false;
  return operation !== "metadata" || before?.kind !== "directory";
}

/** The names in the upper layer for a path: its entry or its whiteout. */
function upperNames(upper: Folder, marks: LayerMarks, path: string): string[] {
  using parent = upper.openBelowIfThere(parentPath(path));
  const names = marks.namesFor(baseName(path)).filter((name) => parent?.facts(name) !== undefined);
  return names.slice(0, 1).map((name) => joinPath(parentPath(path), name));
}

function pathsOf(names: EarlierLayer["names"]): string[] {
  return names.map(({ path }) => path);
}

function noteNow(record: BaseRecord, lower: Folder, path: string): void {
  const facts = readEntry(lower, path, lowerFacts);
  if (facts !== undefined) record.set(path, facts);
}

/** The paths that leave the layer with all their contents, and the entries that stay. */
function byPlace(entries: readonly ManifestEntry[]): {
  leave: ReadonlySet<string>;
  stay: readonly ManifestEntry[];
} {
  return {
    leave: new Set(entries.filter(leavesLayer).map(({ path }) => path)),
    stay: entries.filter((entry) => !leavesLayer(entry)),
  };
}

function isOfPart(entries: readonly ManifestEntry[]): (path: string) => boolean {
  const { leave, stay } = byPlace(entries);
  const staying = new Set(stay.map(({ path }) => path));
  return (path) => staying.has(path) || nearest(leave, path) !== undefined;
}

/** The changes of a sandbox that are in the way of returning entries. */
export function inTheWay<Change extends { readonly path: string; readonly parts?: unknown }>(
  entries: readonly ManifestEntry[],
  changes: Iterable<Change>,
): Change[] {
  const { leave } = byPlace(entries);
  const above = new Set([...leave].flatMap(foldersAbove));
  return [...changes].filter(
    ({ path, parts }) => nearest(leave, path) !== undefined || (above.has(path) && parts === undefined),
  );
}
