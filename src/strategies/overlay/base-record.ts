import { type BaseFacts, baseFacts } from "../../engine/base/base-facts.ts";
import type { NamedEntry } from "../../engine/tree/named-entry.ts";
import { LastParsed } from "../../engine/workspace/last-parsed.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";

/**
 * The base facts of the paths that the upper layer covers. An overlay keeps no copy of the tree, and a
 * copied-up file does not name its original; so we note the base when a program has ended, and before each
 * write of ours. An entry of the upper layer without a note had nothing below it: if the original has an
 * entry there now, another writer made it.
 *
 * Format of the file `base` in the workspace: JSON, { PATH: BaseFacts }. It grows with the change.
 */
const SAVE = failpoint("overlay.note-base");
const BASE = "base";

export class BaseRecord {
  readonly #noted: Map<string, BaseFacts>;
  #isChanged = false;

  constructor(noted: ReadonlyMap<string, BaseFacts> = new Map()) {
    this.#noted = new Map(noted);
  }

  static load(folder: Folder): BaseRecord {
    const bytes = readWhole(folder, BASE);
    return bytes === undefined ? new BaseRecord() : BaseRecord.fromBytes(bytes);
  }

  /** Loads a shared record, only for lookups. */
  static loadForLookup(folder: Folder): Pick<BaseRecord, "get"> {
    return lastRecord.of(folder, BASE) ?? new BaseRecord();
  }

  static fromBytes(bytes: Uint8Array): BaseRecord {
    return new BaseRecord(new Map(Object.entries(parsed<{ [path: string]: BaseFacts }>(bytes) ?? {})));
  }

  toBytes(): Uint8Array {
    return Buffer.from(JSON.stringify(Object.fromEntries(this.#noted)));
  }

  get(path: string): BaseFacts | undefined {
    return this.#noted.get(path);
  }

  /** Notes the lower layer's entry, unless the path has a note: the first note is the base of the work. */
  note(path: string, { folder, name }: NamedEntry, facts: Facts, changedBefore = false): void {
    if (!this.#noted.has(path))
      this.set(path, { ...lowerFacts(folder, name, facts), ...(changedBefore && { changedBefore }) });
  }

  /** The notes of the wanted paths. */
  notes(isWanted: (path: string) => boolean): (readonly [path: string, facts: BaseFacts])[] {
    return [...this.#noted].filter(([path]) => isWanted(path));
  }

  /** Replaces the note of a path. */
  set(path: string, facts: BaseFacts): void {
    this.#noted.set(path, facts);
    this.#isChanged = true;
  }

  /** Drops the notes of paths that the upper layer no longer covers. */
  forget(isWanted: (path: string) => boolean): void {
    for (const [path] of this.notes(isWanted)) this.#noted.delete(path);
    this.#isChanged = true;
  }

  saveIfChanged(folder: Folder, how: "buffered" | "flushed" = "buffered"): void {
    if (this.#isChanged) this.save(folder, how);
  }

  save(folder: Folder, how: "buffered" | "flushed" = "buffered"): void {
    writeWhole(SAVE, folder, BASE, this.toBytes(), how);
    this.#isChanged = false;
  }
}

const lastRecord = new LastParsed((bytes) => BaseRecord.fromBytes(bytes));

/**
 * The current facts of an entry of the original, as a base. Without the change time: the barrier tells
 * whether it changed since.
 */
export function lowerFacts(folder: Folder, name: string, facts: Facts): BaseFacts {
  const { ctime: _, ...base } = baseFacts(folder, name, facts);
  return base;
}
