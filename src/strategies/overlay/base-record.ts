import { type BaseFacts, baseFacts } from "../../engine/base/base-facts.ts";
import type { NamedEntry } from "../../engine/tree/named-entry.ts";
import { LastParsed } from "../../engine/workspace/last-parsed.ts";
import { type Facts, identityKey, sameTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { LandedEntry } from "./landed/landed-notes.ts";
import type { LayerMarks } from "./layer-marks.ts";

/**
 * The base facts of the paths that the upper layer covers. An overlay keeps no copy of the tree, and a
 * copied-up file does not name its original; so we note the base when a program has ended, and before each
 * write of ours. An entry of the upper layer without a note had nothing below it: if the original has an
 * entry there now, another writer made it.
 *
 * It also says what has landed and is still in the upper layer, because programs are inside
 * (landed/landed-entries.ts). Both are one file, because they change together.
 *
 * Format of the file `base` in the workspace: JSON, { PATH: BaseFacts }, and at the key "/", which is no path
 * in a resource, the `LandedNotes`, if there are any. It grows with the change.
 */
const SAVE = failpoint("overlay.note-base");
const BASE = "base";
const LANDED = "/";

/** The layers, with their marks and base record. */
export interface Layers {
  readonly upper: Folder;
  readonly lower: Folder;
  readonly workspace: Folder;
  readonly record: BaseRecord;
  readonly marks: LayerMarks;
}

/** What has landed while programs were inside. */
interface LandedNotes {
  /** The entries that are still in the upper layer. */
  readonly entries: { readonly [path: string]: LandedEntry };
  /** The ids of the landings that are noted in this record. */
  readonly landings: readonly string[];
  /** The identities of files that programs had moved before something landed. */
  readonly moved: readonly string[];
}

export class BaseRecord {
  readonly #noted: Map<string, BaseFacts>;
  readonly #landed: Map<string, LandedEntry>;
  readonly #landings: Set<string>;
  readonly #moved: Set<string>;
  #isChanged = false;

  constructor(noted: ReadonlyMap<string, BaseFacts> = new Map(), landed?: LandedNotes) {
    this.#noted = new Map(noted);
    this.#landed = new Map(Object.entries(landed?.entries ?? {}));
    this.#landings = new Set(landed?.landings);
    this.#moved = new Set(landed?.moved);
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
    type Stored = { readonly [path: string]: BaseFacts } & { readonly [LANDED]?: LandedNotes };
    const { [LANDED]: landed, ...noted } = parsed<Stored>(bytes) ?? {};
    return new BaseRecord(new Map(Object.entries(noted)), landed);
  }

  toBytes(): Uint8Array {
    const landed = {
      entries: Object.fromEntries(this.#landed),
      landings: [...this.#landings],
      moved: [...this.#moved],
    };
    const hasLanded = this.#landed.size + this.#landings.size + this.#moved.size > 0;
    return Buffer.from(
      JSON.stringify({ ...Object.fromEntries(this.#noted), ...(hasLanded && { [LANDED]: landed }) }),
    );
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

  /** Gives a folder that is noted with one time another one. */
  moveTime(path: string, from: Time, to: Time): void {
    const noted = this.get(path);
    if (noted !== undefined && sameTime(noted.mtime, from)) this.set(path, { ...noted, mtime: to });
  }

  /** What has landed and is still in the upper layer, by path. */
  get landed(): ReadonlyMap<string, LandedEntry> {
    return this.#landed;
  }

  setLanded(path: string, entry: LandedEntry): void {
    this.#landed.set(path, entry);
    this.#isChanged = true;
  }

  /** The identities of files that programs had moved before something landed. */
  get moved(): ReadonlySet<string> {
    return this.#moved;
  }

  /** Forgets everything of what has landed, but for which landings are noted. */
  forgetAllLanded(): void {
    this.#landed.clear();
    this.#moved.clear();
    this.#isChanged = true;
  }

  forgetLanded(isWanted: (path: string) => boolean): void {
    for (const path of [...this.#landed.keys()].filter(isWanted)) this.#landed.delete(path);
    this.#isChanged = true;
  }

  /** Whether a landing is noted here: then it must not be noted again, because programs have gone on. */
  hasLanding(id: string): boolean {
    return this.#landings.has(id);
  }

  addLanding(id: string, moved: readonly string[]): void {
    this.#landings.add(id);
    for (const identity of moved) this.#moved.add(identity);
    this.#isChanged = true;
  }

  /** Knows the landings and the files that another record of the same layer knows. */
  keepKnown(other: BaseRecord): void {
    for (const id of other.#landings) this.#landings.add(id);
    for (const identity of other.#moved) this.#moved.add(identity);
    for (const { own } of other.#landed.values()) if (own !== undefined) this.#moved.add(identityKey(own));
    this.#isChanged = true;
  }

  removeLanding(id: string): void {
    this.#landings.delete(id);
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
