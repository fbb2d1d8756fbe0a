import { type BaseFacts, NO_IDENTITY, NO_TIME } from "../../../engine/base/base-facts.ts";
import type { Age } from "../../../engine/base/own-touches.ts";
import { BaseRecord, lowerFacts } from "../base-record.ts";
import { ownEntry } from "../landed/landed-entries.ts";
import type { LandedEntry } from "../landed/landed-notes.ts";
import type { NamedFacts } from "./named-facts.ts";

/**
 * How the restored layer is to be read. A mount keeps entries that the checkpoint does not have: copies of
 * what the lower layer has too, whiteouts, and folders that hide it. For work these count as absent, and so
 * they are noted as entries that have landed are (landed/settled-layer.ts).
 */
export class RestoredNotes {
  readonly #present: BaseRecord;
  readonly #age: Age;
  readonly #landed = new Map<string, LandedEntry>();
  readonly #bases = new Map<string, BaseFacts>();

  constructor(present: BaseRecord, age: Age) {
    this.#present = present;
    this.#age = age;
  }

  /** An entry is what the lower layer has. */
  pass(path: string, { folder, name, facts }: NamedFacts, below: NamedFacts): void {
    this.#landed.set(path, { own: ownEntry(folder, name, facts) });
    const isChanged = below.facts.kind === "directory" && this.#age.isSince(below.facts);
    const base = lowerFacts(below.folder, below.name, below.facts);
    this.#bases.set(path, { ...base, ...(isChanged && { changedBefore: true }) });
  }

  /** A folder of the checkpoint shows the lower one too, although the mount hides it. */
  merge(path: string, { folder, name, facts }: NamedFacts): void {
    this.#landed.set(path, { own: ownEntry(folder, name, facts) });
  }

  /** What had landed is still as it landed. */
  keep(path: string): void {
    const [landed, base] = [this.#present.landed.get(path), this.#present.get(path)];
    if (landed !== undefined) this.#landed.set(path, landed);
    if (base !== undefined) this.#bases.set(path, base);
  }

  /** The checkpoint has a whiteout where the mount leaves none. */
  hide(path: string): void {
    this.#landed.set(path, { own: { kind: "file", ...NO_IDENTITY, ctime: NO_TIME } });
  }

  /** The checkpoint has no whiteout, but the mount leaves one. */
  passWhiteout(path: string): void {
    this.#landed.set(path, {});
  }

  /** The record of the checkpoint, over the restored layer. */
  recordOver(saved: Uint8Array): BaseRecord {
    const record = BaseRecord.fromBytes(saved);
    record.forgetAllLanded();
    record.keepKnown(this.#present);
    for (const [path, facts] of this.#bases) record.set(path, facts);
    for (const [path, entry] of this.#landed) record.setLanded(path, entry);
    return record;
  }
}
