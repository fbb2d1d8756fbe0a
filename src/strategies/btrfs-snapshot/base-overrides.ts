import { StateError } from "../../core/errors/errors.ts";
import { joinPath, nearest, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { LandedPart } from "../../engine/landing/landed-part.ts";
import type { ManifestEntry } from "../../engine/manifest/manifest.ts";
import {
  type BaseMove,
  contentPaths,
  earlierEntries,
  metadataPaths,
  returnedMove,
} from "../../engine/part/base-move.ts";
import type { CopiedEntry } from "../../engine/tree/copy-tree.ts";
import { sameTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { BaseSnapshot } from "./base-snapshot.ts";

/**
 * The parts of a snapshot's work that have landed. The base snapshot stays unchanged; these entries override
 * it as the base of the rest. They grow with the landed parts.
 *
 * Format of the file `landed` in the workspace, which exists once a part has landed: JSON
 *   gone      the paths at and below which the base snapshot no longer counts
 *   entries   the entries that are there instead, in the original and in the snapshot; and folders that only
 *             got other metadata or another time, in which the base snapshot still counts
 * The earlier base of the paths of a part, so that it can be taken back after later landings elsewhere:
 *   barrier   of the base snapshot at that time
 *   landed    the part of `landed` for these paths; sufficient while the base snapshot is the same
 *   base      all base entries at and below these paths
 */
interface LandedFile {
  readonly gone: readonly string[];
  readonly entries: readonly CopiedEntry[];
}

export interface EarlierBase {
  readonly barrier: Time;
  readonly landed: LandedFile;
  readonly base: readonly CopiedEntry[];
}

const NO_OVERRIDES: LandedFile = { gone: [], entries: [] };
const SAVE = failpoint("snapshot.note-landed");
export const LANDED = "landed";

/** The paths at which landed entries override the base snapshot. */
export class BaseOverrides {
  readonly #gone: ReadonlySet<string>;
  readonly #entries: ReadonlyMap<string, CopiedEntry>;
  #byFolder: ReadonlyMap<string, readonly CopiedEntry[]> | undefined;

  constructor({ gone, entries }: LandedFile = NO_OVERRIDES) {
    this.#gone = new Set(gone);
    this.#entries = new Map(entries.map((entry) => [entry.path, entry]));
  }

  /** From a checkpoint; one of an earlier Drydock has an empty record. */
  static fromBytes(bytes: Uint8Array): BaseOverrides {
    return new BaseOverrides({ ...NO_OVERRIDES, ...parsed<Partial<LandedFile>>(bytes) });
  }

  static in(workspace: Folder): BaseOverrides {
    const bytes = readWhole(workspace, LANDED);
    const file = bytes === undefined ? NO_OVERRIDES : parsed<LandedFile>(bytes);
    if (file !== undefined) return new BaseOverrides(file);
    throw new StateError(`The record ${workspace.label(LANDED)} of what has landed is damaged.`, {
      hint: "The sandbox can't be compared with its original any more: take what you need from it and cancel the plan.",
    });
  }

  get isEmpty(): boolean {
    return this.#gone.size === 0 && this.#entries.size === 0;
  }

  /** The landed entry that overrides the base snapshot at a path. */
  entry(path: string): CopiedEntry | undefined {
    return this.#entries.get(path);
  }

  /** The landed entries that are directly in a folder. */
  entriesIn(folder: string): readonly CopiedEntry[] {
    const all = () => [...this.#entries.values()].filter(({ path }) => path !== ROOT_PATH);
    this.#byFolder ??= Map.groupBy(all(), ({ path }) => parentPath(path));
    return this.#byFolder.get(folder) ?? [];
  }

  /** Whether the base snapshot no longer counts at a path, because of an override there or above. */
  isGone(path: string): boolean {
    return nearest(this.#gone, path) !== undefined;
  }

  /** Whether this path is overridden itself, by content or metadata, ignoring overrides of its ancestors. */
  isOverridden(path: string): boolean {
    return this.#gone.has(path) || this.#entries.has(path);
  }

  /** The base at the paths of a part, before the part changes it. */
  earlier(part: LandedPart, base: BaseSnapshot): EarlierBase {
    const at = (path: string) => this.#base(path, base);
    const below = (path: string) => this.#baseBelow(path, base);
    return {
      barrier: base.barrier,
      landed: this.#of(part.manifest.entries, "part"),
      base: earlierEntries(part, { at, below }),
    };
  }

  /** Returns the overrides after a move at the paths of a part. May be repeated. */
  moved(part: LandedPart, { gone, come, changed, withTime }: BaseMove, base: BaseSnapshot): BaseOverrides {
    const { entries } = part.manifest;
    const metadata = metadataPaths(entries).flatMap((path) => changed.get(path) ?? this.entry(path) ?? []);
    const landed = { gone: [...gone], entries: [...come, ...metadata] };
    return this.#with(part, landed).#withTimes(part, withTime, base);
  }

  /** Returns the overrides after a move at other paths than those of a part. */
  movedBy({ gone, come }: BaseMove): BaseOverrides {
    const isOther = (path: string) => nearest(gone, path) === undefined;
    return new BaseOverrides({
      gone: [...this.#gone].filter(isOther).concat(...gone),
      entries: [...this.#entries.values()].filter(({ path }) => isOther(path)).concat(come),
    });
  }

  /** The file of these overrides; a checkpoint keeps it. */
  toBytes(): Buffer {
    const file: LandedFile = { gone: [...this.#gone], entries: [...this.#entries.values()] };
    return Buffer.from(JSON.stringify(file));
  }

  /** Returns the overrides without this part. */
  takeBack(part: LandedPart, earlier: EarlierBase, base: BaseSnapshot): BaseOverrides {
    const move = returnedMove(part, earlier.base);
    return sameTime(earlier.barrier, base.barrier)
      ? this.#with(part, earlier.landed).#withTimes(part, move.withTime, base)
      : this.moved(part, move, base);
  }

  /** With other overrides for the paths of a part. */
  #with({ manifest }: LandedPart, { gone, entries }: LandedFile): BaseOverrides {
    const others = this.#of(manifest.entries, "others");
    return new BaseOverrides({ gone: [...others.gone, ...gone], entries: [...others.entries, ...entries] });
  }

  save(workspace: Folder): void {
    writeWhole(SAVE, workspace, LANDED, this.toBytes(), "flushed");
  }

  #base(path: string, base: BaseSnapshot): CopiedEntry | undefined {
    return this.entry(path) ?? (this.isGone(path) ? undefined : base.entry(path));
  }

  /** Without recursion, because folders may be very deep. */
  *#baseBelow(top: string, base: BaseSnapshot): Generator<CopiedEntry> {
    const waiting = [top];
    for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
      const entry = this.#base(path, base);
      if (entry === undefined) continue;
      yield entry;
      if (entry.original.kind !== "directory") continue;
      const folder = path;
      const inBase = this.isGone(folder) ? [] : base.names(folder).map((name) => joinPath(folder, name));
      waiting.push(...new Set([...inBase, ...this.entriesIn(folder).map(({ path: inside }) => inside)]));
    }
  }

  #withTimes({ manifest }: LandedPart, withTime: BaseMove["withTime"], base: BaseSnapshot): BaseOverrides {
    const folders = manifest.folderTimes.flatMap(({ path }) => this.#base(path, base) ?? []);
    const moved = folders.map(withTime);
    // Folders whose time has not moved need no override.
    const changed = moved.filter((entry, index) => entry !== folders[index]);
    return new BaseOverrides({ gone: [...this.#gone], entries: [...this.#entries.values(), ...changed] });
  }

  /** The overrides of the paths of a part, or of all other paths. */
  #of(entries: readonly ManifestEntry[], which: "part" | "others"): LandedFile {
    const contents = new Set(contentPaths(entries));
    const itself = new Set(metadataPaths(entries));
    const isInside = (path: string) => nearest(contents, path) !== undefined;
    const isPart = which === "part";
    return {
      gone: [...this.#gone].filter((path) => isInside(path) === isPart),
      // If only the metadata of a folder landed, its contents do not belong to the part.
      entries: [...this.#entries.values()].filter(
        ({ path }) => (itself.has(path) || isInside(path)) === isPart,
      ),
    };
  }
}
