import { baseName } from "../../core/paths/byte-path.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { ManifestEntry } from "../manifest/manifest.ts";
import { type Slots, skeletonName, slotName } from "../manifest/slots.ts";
import type { PartedFolder } from "../tree/move-by-entries.ts";

/** The place where an entry lands: a name in an open folder of the original, and its slot. */
export interface LandingTarget {
  readonly entry: ManifestEntry;
  readonly slot: number;
  readonly parent: Folder;
  readonly name: string;
  /** The folder that the slot is in. */
  readonly slots: Folder;
  readonly slotName: string;
}

/** The entry of the original as a folder that may have to move entry by entry. */
export function partedFolder({ entry, slot, parent, name, slots }: LandingTarget): PartedFolder {
  const at = { folder: slots, name: skeletonName(slot) };
  return { source: { folder: parent, name }, identity: entry.before, at, skeleton: entry.skeleton };
}

/** The place of an entry. Valid until the next slot, or the next entry's folder, is requested. */
export function targetOf(entry: ManifestEntry, slot: number, parent: Folder, slots: Slots): LandingTarget {
  return { entry, slot, parent, name: baseName(entry.path), slots: slots.in(slot), slotName: slotName(slot) };
}
