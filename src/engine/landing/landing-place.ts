import { baseName } from "../../core/paths/byte-path.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { ManifestEntry } from "../manifest/manifest.ts";
import { type Slots, slotName } from "../manifest/slots.ts";

/** The place where an entry lands: a name in an open folder of the original, and its slot. */
export interface Place {
  readonly entry: ManifestEntry;
  readonly slot: number;
  readonly parent: Folder;
  readonly name: string;
  /** The folder that the slot is in. */
  readonly slots: Folder;
  readonly slotName: string;
}

/** The place of an entry. Valid until the next slot, or the next entry's folder, is requested. */
export function placeOf(entry: ManifestEntry, slot: number, parent: Folder, slots: Slots): Place {
  return { entry, slot, parent, name: baseName(entry.path), slots: slots.in(slot), slotName: slotName(slot) };
}
