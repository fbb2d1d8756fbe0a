import { UnsupportedError } from "../../../core/errors/errors.ts";
import { displayPath, isAtOrBelow, joinPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import type { Age } from "../../../engine/base/own-touches.ts";
import { type Metadata, metadataOf } from "../../../engine/tree/metadata.ts";
import { assertNotTooDeep, walkBelow } from "../../../engine/tree/walk.ts";
import { isExcluded, type Scope } from "../../../engine/workspace/scope.ts";
import { OWN_NAME } from "../../../engine/workspace/workspace.ts";
import { identityKey } from "../../../system/calls/facts.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import type { BaseRecord } from "../base-record.ts";
import { SettledLayer } from "../landed/settled-layer.ts";
import type { LayerMarks } from "../layer-marks.ts";
import { LinkedOriginals } from "./linked-originals.ts";
import { type NamedFacts, sameLeaf, sameMetadata } from "./named-facts.ts";
import { RestoredNotes } from "./restored-notes.ts";
import { assertAlone, assertCanCome } from "./returnable.ts";

/** What a restore through the mount works with. */
export interface RestoredLayers {
  /** The upper layer as it is. */
  readonly upper: Folder;
  readonly lower: Folder;
  /** The upper layer as the checkpoint has it: without what had landed (settling.ts). */
  readonly saved: Folder;
  readonly marks: LayerMarks;
  readonly scope: Scope;
  /** The record of the present. */
  readonly record: BaseRecord;
  readonly age: Age;
}

/** The metadata that an entry has to have. */
interface WantedMetadata {
  readonly metadata: Metadata;
  readonly isLink: boolean;
  /** It is set even if it does not differ, so that the upper layer covers the entry. */
  readonly isToSet: boolean;
}

/**
 * What programs have to see once more, and how the restored layer is to be read. All paths are in an order in
 * which a folder comes before its contents.
 */
export interface RestoreSteps {
  /** The paths at which something else comes, or nothing. */
  readonly removed: readonly string[];
  readonly folders: readonly string[];
  /** Files, links and the like that are copied. */
  readonly fromOriginal: readonly string[];
  readonly fromCheckpoint: readonly string[];
  readonly metadata: ReadonlyMap<string, WantedMetadata>;
  readonly notes: RestoredNotes;
}

/** Compares the layer with a checkpoint. Untouched entries stay. */
export function findSteps(layers: RestoredLayers): RestoreSteps {
  const { upper, lower, saved, scope } = layers;
  const walk = new RestoreWalk(layers);
  if (scope.only === undefined) walk.noteMetadata(ROOT_PATH, rootOf(saved), rootOf(upper));
  walk.folder({ path: ROOT_PATH, upper, saved, lower, hides: false, shows: true });
  walk.bringLinked();
  return walk;
}

/** Whether programs see what the checkpoint has. */
export function isDone({ removed, folders, fromOriginal, fromCheckpoint, metadata }: RestoreSteps): boolean {
  const lists = [removed, folders, fromOriginal, fromCheckpoint];
  return lists.every(({ length }) => length === 0) && ![...metadata.values()].some(({ isToSet }) => isToSet);
}

/** A folder in the layers. */
interface Sides {
  readonly path: string;
  readonly upper?: Folder | undefined;
  readonly saved?: Folder | undefined;
  readonly lower?: Folder | undefined;
  /** Whether programs see nothing of the lower folder. */
  readonly hides: boolean;
  /** Whether the checkpoint shows the lower folder too. */
  readonly shows: boolean;
}

/** What one name has in the layers; a whiteout is no entry. */
interface Names {
  readonly path: string;
  readonly above: NamedFacts | undefined;
  readonly saved: NamedFacts | undefined;
  readonly below: NamedFacts | undefined;
  readonly isWhiteout: boolean;
  readonly isSavedWhiteout: boolean;
}

const NO_WHITEOUTS = { saved: undefined, isWhiteout: false, isSavedWhiteout: false };

class RestoreWalk implements RestoreSteps {
  readonly removed: string[] = [];
  readonly folders: string[] = [];
  readonly fromOriginal: string[] = [];
  readonly fromCheckpoint: string[] = [];
  readonly metadata = new Map<string, WantedMetadata>();
  readonly notes: RestoredNotes;
  readonly #layers: RestoredLayers;
  readonly #settled: SettledLayer;
  /** The paths in the checkpoint of the names of each file. */
  readonly #groups: ReadonlyMap<string, readonly string[]>;
  readonly #linked = new LinkedOriginals();

  constructor(layers: RestoredLayers) {
    const { upper, record, marks, saved, age } = layers;
    this.#layers = layers;
    this.#settled = new SettledLayer(upper, record, marks);
    this.notes = new RestoredNotes(record, age);
    this.#groups = groupsIn(saved);
  }

  folder(sides: Sides): void {
    const { path, upper, saved, lower, hides, shows } = sides;
    const { only } = this.#layers.scope;
    assertNotTooDeep(path);
    const names = new Set([...(saved?.names() ?? []), ...(upper?.names() ?? [])]);
    if (hides && shows) for (const name of lower?.names() ?? []) names.add(name);
    for (const name of [...names].sort()) {
      if (OWN_NAME.test(name) || (path === ROOT_PATH && only !== undefined && name !== only)) continue;
      if (!isExcluded(this.#layers.scope, joinPath(path, name))) this.#name(sides, name);
    }
  }

  noteMetadata(path: string, wanted: NamedFacts, now: NamedFacts | undefined): void {
    const isToSet = now === undefined || !sameMetadata(now, wanted);
    if (!isToSet && wanted.facts.kind !== "directory") return;
    const { folder, name, facts } = wanted;
    this.metadata.set(path, {
      ...{ metadata: metadataOf(folder, name, facts), isLink: facts.kind === "symlink", isToSet },
    });
  }

  #name(sides: Sides, name: string): void {
    const names = this.#look(sides, name);
    const { path, above, saved, below, isWhiteout, isSavedWhiteout } = names;
    const isShown = sides.shows && saved === undefined && !isSavedWhiteout;
    const isInUpper = above !== undefined || isWhiteout;
    if (isShown && isInUpper && this.#settled.dropped.has(path)) {
      this.notes.keep(path);
      this.#linked.add(path, "keeps", { above, below });
    } else if (isShown && !isInUpper && this.#isPassed(sides, name)) return;
    else if (saved !== undefined) this.#bringSaved(sides, names, saved);
    else if (isShown && below !== undefined) this.#bringLower(sides, names, below);
    else if (above !== undefined || (below !== undefined && !sides.hides && !isWhiteout))
      this.#remove(sides, names);
    else if (sides.shows && isSavedWhiteout && !isWhiteout) this.notes.hide(path);
    else if (isShown && isWhiteout) this.notes.passWhiteout(path);
  }

  /** Whether a lower name counts as shown, although the mount does not show it (settled-layer.ts). */
  #isPassed({ path, upper }: Sides, name: string): boolean {
    return (
      upper !== undefined && this.#settled.merged.has(path) && !this.#settled.hiddenIn(path).includes(name)
    );
  }

  #look({ path, upper, saved, lower }: Sides, name: string): Names {
    const above = this.#entry(upper, name);
    const kept = this.#entry(saved, name);
    const facts = lower?.facts(name);
    return {
      path: joinPath(path, name),
      above: above === "whiteout" ? undefined : above,
      saved: kept === "whiteout" ? undefined : kept,
      below: lower !== undefined && facts !== undefined ? { folder: lower, name, facts } : undefined,
      isWhiteout: above === "whiteout",
      isSavedWhiteout: kept === "whiteout",
    };
  }

  #entry(folder: Folder | undefined, name: string): NamedFacts | "whiteout" | undefined {
    const facts = folder?.facts(name);
    if (folder === undefined || facts === undefined) return undefined;
    return this.#layers.marks.isMark(folder, name, facts) ? "whiteout" : { folder, name, facts };
  }

  /** The checkpoint has an entry of its own. */
  #bringSaved(sides: Sides, names: Names, saved: NamedFacts): void {
    const { path, above, below } = names;
    if (saved.facts.kind !== "directory") {
      const stays = above !== undefined && this.#isTogether(path, above, saved) && sameLeaf(above, saved);
      if (stays) this.noteMetadata(path, saved, above);
      else {
        this.#remove(sides, names);
        this.fromCheckpoint.push(path);
      }
      return;
    }
    using inSaved = saved.folder.openChild(saved.name);
    const { marks } = this.#layers;
    const shows = sides.shows && !marks.isOpaque(inSaved) && marks.isCopiedUp(inSaved);
    using inLower = below?.facts.kind === "directory" ? below.folder.openBelowIfThere(below.name) : undefined;
    const hides = this.#hidesNow(sides, names, inLower);
    const stays = hides !== undefined && (shows || hides || inLower === undefined);
    if (!stays) this.#makeFolder(sides, names);
    const kept = stays ? above : undefined;
    using inUpper = kept?.folder.openChild(kept.name);
    this.noteMetadata(path, saved, kept);
    const isHidden = !stays || hides;
    if (shows && isHidden && kept !== undefined) this.notes.merge(path, kept);
    const seen = shows || !isHidden ? inLower : undefined;
    this.folder({ path, upper: inUpper, saved: inSaved, lower: seen, hides: isHidden, shows });
  }

  /** The checkpoint shows the lower layer's entry. */
  #bringLower(sides: Sides, names: Names, below: NamedFacts): void {
    const { path, above, isWhiteout } = names;
    if (above === undefined && !sides.hides && !isWhiteout) return;
    if (below.facts.kind !== "directory") {
      const { nlink } = below.facts;
      const stays = above !== undefined && above.facts.nlink === nlink && sameLeaf(above, below);
      if (stays) {
        this.noteMetadata(path, below, above);
        this.notes.pass(path, above, below);
      } else if (nlink === 1) this.#bringLeaf(sides, names, below);
      this.#linked.add(path, stays ? "stays" : "comes", { above, below });
      return;
    }
    using inLower = below.folder.openBelowIfThere(below.name);
    const hides = this.#hidesNow(sides, names, inLower);
    if (hides === undefined) {
      assertCanCome(path, below);
      this.#makeFolder(sides, names);
    }
    const kept = hides === undefined ? undefined : above;
    using inUpper = kept?.folder.openChild(kept.name);
    this.noteMetadata(path, below, kept);
    if (kept !== undefined) this.notes.pass(path, kept, below);
    this.folder({ path, upper: inUpper, lower: inLower, hides: hides ?? true, shows: true });
  }

  #bringLeaf(sides: Pick<Sides, "hides">, names: Names, below: NamedFacts): void {
    assertCanCome(names.path, below);
    this.#remove(sides, names);
    this.fromOriginal.push(names.path);
  }

  /** Files of the original with several names come with all of them, or not at all. */
  bringLinked(): void {
    for (const { path, above, below } of this.#linked.toBring())
      this.#bringLeaf({ hides: true }, { path, above, below, ...NO_WHITEOUTS }, below);
  }

  /**
   * Whether the folder that programs see at a path hides the lower one. Undefined if they see none, or if
   * nothing says how they see it: then it is made anew.
   */
  #hidesNow(
    sides: Sides,
    { above, below, isWhiteout }: Names,
    inLower: Folder | undefined,
  ): boolean | undefined {
    if (above === undefined)
      return !sides.hides && !isWhiteout && below?.facts.kind === "directory" ? false : undefined;
    if (above.facts.kind !== "directory") return undefined;
    using folder = above.folder.openChild(above.name);
    if (sides.hides || this.#layers.marks.isOpaque(folder)) return true;
    return inLower === undefined || this.#layers.marks.isCopiedUp(folder) ? false : undefined;
  }

  #makeFolder(sides: Sides, names: Names): void {
    this.#remove(sides, names);
    this.folders.push(names.path);
  }

  #remove(sides: Pick<Sides, "hides">, { path, above, below, isWhiteout }: Names): void {
    const isLowerShown = below !== undefined && !sides.hides && !isWhiteout;
    if (above === undefined && !isLowerShown) return;
    const inside = (this.#layers.scope.without ?? []).find((excluded) => isAtOrBelow(excluded, path));
    if (inside !== undefined)
      throw new UnsupportedError(
        `The checkpoint can't be restored while commands run: ${displayPath(inside)} is a resource of its own in a folder that would go.`,
        { hint: "Wait until they have ended, and try again." },
      );
    if (isLowerShown && (above === undefined || this.#isMerged(above))) this.#assertCanGo(path, below);
    this.removed.push(path);
  }

  /** What goes may have to come back, if the restore fails half way. */
  #assertCanGo(path: string, below: NamedFacts): void {
    const assertReturns = (at: string, entry: NamedFacts) => {
      assertCanCome(at, entry);
      assertAlone(at, entry);
    };
    assertReturns(path, below);
    if (below.facts.kind !== "directory") return;
    for (const { path: inner, parent, name, facts } of walkBelow(this.#layers.lower, path))
      if (!OWN_NAME.test(name)) assertReturns(inner, { folder: parent, name, facts });
  }

  /** Whether a file has the same names in the upper layer as in the checkpoint. */
  #isTogether(path: string, above: NamedFacts, saved: NamedFacts): boolean {
    const group = this.#groups.get(identityKey(saved.facts)) ?? [path];
    if (above.facts.nlink !== group.length) return false;
    const key = identityKey(above.facts);
    return group.every((name) => {
      const facts = this.#layers.upper.factsBelow(name);
      return facts !== undefined && identityKey(facts) === key;
    });
  }

  #isMerged({ folder, name, facts }: NamedFacts): boolean {
    if (facts.kind !== "directory") return false;
    using opened = folder.openChild(name);
    return !this.#layers.marks.isOpaque(opened);
  }
}

function rootOf(folder: Folder): NamedFacts {
  return { folder, name: ROOT_PATH, facts: folder.ownFacts() };
}

/** The paths of the names of each file, by its identity. */
function groupsIn(saved: Folder): ReadonlyMap<string, readonly string[]> {
  const groups = new Map<string, string[]>();
  for (const { path, facts } of walkBelow(saved)) {
    if (facts.kind === "directory" || facts.nlink < 2) continue;
    const key = identityKey(facts);
    groups.set(key, [...(groups.get(key) ?? []), path]);
  }
  return groups;
}
