import type { Attention } from "../core/strategy.ts";
import type { ManifestEntry } from "./manifest.ts";
import type { Slots } from "./slots.ts";

/** What a run of a landing has to tell: where it met a rival, and which slots hold a rival's version. */
export class LandingReport {
  readonly attention: Attention[] = [];
  readonly keptSlots: number[] = [];
  readonly #slots: Slots;

  constructor(slots: Slots) {
    this.#slots = slots;
  }

  rival({ entry, slot }: { readonly entry: ManifestEntry; readonly slot: number }): void {
    this.#kept(entry, "somebody changed it while the plan was landing; that version is kept", slot);
  }

  folderGone(entry: ManifestEntry, slot: number): void {
    this.#kept(entry, "its folder is gone from the original, so it did not land", slot);
  }

  notDeleted(entry: ManifestEntry): void {
    this.tell(entry, "somebody changed it while the plan was landing; it was not deleted");
  }

  leftAlone(entry: ManifestEntry): void {
    this.tell(entry, "somebody changed it while the plan was landing; it was left as it is");
  }

  tell({ path }: ManifestEntry, message: string): void {
    this.attention.push({ path, message });
  }

  #kept({ path }: ManifestEntry, message: string, slot: number): void {
    const isKept = this.#slots.facts(slot) !== undefined;
    this.attention.push({ path, message, ...(isKept && { keptAt: this.#slots.label(slot) }) });
    if (isKept) this.keptSlots.push(slot);
  }
}
