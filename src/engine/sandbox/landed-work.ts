import type { Change, ChangeSide } from "../../core/change.ts";
import { UsageError } from "../../core/errors/errors.ts";
import { baseName, bytesFromPath, comparePaths, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { PreparedCommit } from "../../core/strategy.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { LandedRecordOnDisk, Landings } from "../landing/landings.ts";
import type { ManifestEntry } from "../manifest/manifest.ts";
import type { ChangedPath, SlotEntry } from "../manifest/manifest-entries.ts";
import { RenamedPaths } from "../manifest/renamed-paths.ts";
import { Slots, slotName } from "../manifest/slots.ts";
import type { StoredManifest } from "../manifest/stored-manifest.ts";
import { kindOfChange, shownFacts } from "../show/shown-facts.ts";
import { readFileBelow } from "./writing.ts";

/**
 * What landings changed, told from their records. A record was made for the undo: it has an entry for
 * everything that was exchanged, and the slots hold what was there before. What landed is in the original,
 * for as long as no other writer changes it.
 */
export class LandedWork {
  #read: { readonly landing: string; readonly entries: LandedEntries } | undefined;

  /** Everything that a landing changed, in path order. */
  changes(landings: Landings, prepared: PreparedCommit, mapPath: (path: string) => string): Change[] {
    const paths = landings.whatLanded(prepared, ({ manifest }) => changedPaths(manifest()));
    return paths.map(({ path, operation, before, after }) => ({
      path: mapPath(path),
      operation,
      kind: kindOfChange((after ?? before)?.kind ?? "file"),
      ...(before !== undefined && { before: shownFacts(before) }),
      ...(after !== undefined && { after: shownFacts(after) }),
    }));
  }

  /**
   * The content of a file, or the target of a link, before or after a landing; undefined if there was none,
   * or another writer changed it since.
   */
  read(
    landings: Landings,
    prepared: PreparedCommit,
    original: Folder,
    asked: AskedSide,
  ): Uint8Array | undefined {
    return landings.whatLanded(prepared, (landed) => {
      const around = this.#entriesOf(landed).around(asked);
      return around && readSide(landed, original, around, asked.side);
    });
  }

  /** Kept, because a patch asks for one path after the other. */
  #entriesOf({ landing, manifest }: LandedRecordOnDisk): LandedEntries {
    if (this.#read?.landing !== landing.path)
      this.#read = { landing: landing.path, entries: new LandedEntries(manifest()) };
    return this.#read.entries;
  }
}

interface AskedSide {
  readonly path: string;
  readonly side: ChangeSide;
}

function changedPaths({ entries }: StoredManifest): readonly ChangedPath[] {
  const listed = [...entries.changedPaths()];
  const paths = listed.length > 0 ? listed : [...entries.all()].map(({ entry }) => pathOf(entry));
  return paths.toSorted((a, b) => comparePaths(a.path, b.path));
}

function pathOf({ path, operation, before, after, metadata }: ManifestEntry): ChangedPath {
  if (operation === "add") return { path, operation: "added", after };
  if (operation === "delete") return { path, operation: "deleted", before };
  const now = metadata !== undefined && before !== undefined ? { ...before, ...metadata.after } : after;
  const isRetyped = now !== undefined && now.kind !== before?.kind;
  return { path, operation: isRetyped ? "typechanged" : "modified", before, after: now };
}

/** The entries of a landing by their path. */
class LandedEntries {
  readonly #entries = new Map<string, SlotEntry>();
  readonly #renamed: RenamedPaths;

  constructor({ entries }: StoredManifest) {
    for (const found of entries.all()) this.#entries.set(found.entry.renamedTo ?? found.entry.path, found);
    this.#renamed = new RenamedPaths(Iterator.from(entries.renamed()).map(({ entry }) => entry));
  }

  /** The entry that a path is, or is in, and the path as the record has it. */
  around({ path, side }: AskedSide): (SlotEntry & { readonly path: string }) | undefined {
    const now = side === "before" ? this.#renamed.after(path) : path;
    for (let at = now; ; at = parentPath(at)) {
      const found = this.#entries.get(at);
      if (found !== undefined) return { ...found, path: now };
      if (at === ROOT_PATH) return undefined;
    }
  }
}

function readSide(
  { landing, age }: LandedRecordOnDisk,
  original: Folder,
  { slot, entry, path }: SlotEntry & { readonly path: string },
  side: ChangeSide,
): Uint8Array | undefined {
  if (side === "after" || entry.operation === "metadata" || entry.operation === "rename")
    return contentOf(original, path, (facts) => !age.isSince(facts));
  using slots = Slots.open(landing);
  return contentOf(slots.in(slot), `${slotName(slot)}${path.slice(entry.path.length)}`, () => true);
}

type IsFit = (facts: NonNullable<ReturnType<Folder["facts"]>>) => boolean;

function contentOf(folder: Folder, path: string, isFit: IsFit): Uint8Array | undefined {
  using parent = folder.openBelowIfThere(parentPath(path));
  const facts = parent?.facts(baseName(path));
  if (parent === undefined || facts === undefined || !isFit(facts)) return undefined;
  if (facts.kind === "symlink") return bytesFromPath(parent.readLink(baseName(path)));
  if (facts.kind !== "file") return undefined;
  try {
    return readFileBelow(folder, path);
  } catch (thrown) {
    // It may vanish after the look.
    if (thrown instanceof UsageError) return undefined;
    throw thrown;
  }
}
