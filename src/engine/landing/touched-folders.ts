import { baseName, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { FlushTarget } from "../../system/data/flush.ts";
import { LANDED } from "../manifest/landed-record.ts";
import type { Direction } from "../manifest/manifest.ts";
import { Slots, slotName } from "../manifest/slots.ts";
import type { StoredManifest } from "../manifest/stored-manifest.ts";
import { OpenParent } from "../tree/open-parent.ts";

/** The folders whose names a landing has changed, and the entries whose metadata it has changed. */
export function* touchedTargets(
  original: Folder,
  landing: Folder,
  manifest: StoredManifest,
  direction: Direction,
): Generator<FlushTarget> {
  using parents = new OpenParent(original);
  const told = new Set<string>();
  for (const { path, isMetadata } of touchedNames(manifest, direction)) {
    const parent = parents.of(path);
    if (parent === undefined) continue;
    // A flush of its folder does not include the entry itself.
    if (isMetadata) yield { parent, name: baseName(path), alone: true };
    const folder = parentPath(path);
    if (!told.has(folder)) yield itself(parent);
    told.add(folder);
  }
  for (const changed of [manifest.entries.folderTimes(direction), manifest.unlock])
    for (const { path } of changed) {
      using folder = told.has(path) ? undefined : original.openBelowIfThere(path);
      if (folder !== undefined) yield itself(folder);
    }
  yield { parent: landing, name: LANDED };
  using slots = Slots.open(landing);
  for (const folder of slots.folders()) yield itself(folder);
  for (const { entry, slot } of manifest.entries.all())
    if (entry.skeleton !== undefined) yield { parent: slots.in(slot), name: slotName(slot) };
  yield itself(landing);
}

/** The paths that come, go or change; both, of a folder that is renamed. */
function* touchedNames(
  { entries }: StoredManifest,
  direction: Direction,
): Generator<{ readonly path: string; readonly isMetadata: boolean }> {
  for (const { entry } of entries.all(direction)) {
    yield { path: entry.path, isMetadata: entry.operation === "metadata" };
    if (entry.renamedTo !== undefined) yield { path: entry.renamedTo, isMetadata: false };
  }
}

/** The flush target of a folder without its contents. */
export function itself(folder: Folder): FlushTarget {
  return { parent: folder, name: ROOT_PATH };
}
