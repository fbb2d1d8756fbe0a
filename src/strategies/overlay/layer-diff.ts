import { baseName, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { BaseFacts } from "../../engine/base/base-facts.ts";
import type { Age } from "../../engine/base/own-touches.ts";
import type { ChangeSet } from "../../engine/changes/change-set.ts";
import {
  type BaseSide,
  ChangeSetBuilder,
  type NowSide,
  type Pair,
} from "../../engine/changes/change-set-builder.ts";
import { sameFileContent } from "../../engine/tree/same-entry.ts";
import { assertNotTooDeep } from "../../engine/tree/walk.ts";
import type { Steps } from "../../engine/work/pace.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import { type Facts, sameIdentity } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { type BaseRecord, lowerFacts } from "./base-record.ts";
import type { SettledLayer } from "./landed/settled-layer.ts";
import type { LayerMarks } from "./layer-marks.ts";
import { MERGED } from "./layout.ts";
import type { LinkedName } from "./linked-names.ts";

/** The facts that a diff of layers can't find in the layers. */
export interface LayerDiffOptions {
  readonly marks: LayerMarks;
  readonly record: BaseRecord;
  /** The upper layer without what has landed. */
  readonly settled: SettledLayer;
  /**
   * Programs may be at work, so the base record is not complete: the original counts as the base as it is
   * now.
   */
  readonly isLive: boolean;
  /** If the resource is a single file: its name. */
  readonly only?: string;
  /** Whether a path is excluded from the resource. */
  readonly isLeftOut: (path: string) => boolean;
  readonly age: Age;
  readonly workspace: Folder;
  /** While programs are at work: the other names of changed files (linked-names.ts). */
  readonly linkedNames?: () => readonly LinkedName[];
  /** While programs are at work: the mounted overlay, `merged` in the workspace. */
  readonly mounted?: Folder;
}

/**
 * Finds the changes that an upper layer makes. Walks only the upper layer, and the lower folders that it
 * replaces or deletes as a whole.
 */
export function* diffLayers(upper: Folder, lower: Folder, options: LayerDiffOptions): Steps<ChangeSet> {
  const diff = new LayerDiff(options);
  yield* diff.root(upper, lower);
  for (const linked of options.linkedNames?.() ?? []) yield* diff.linkedName(lower, linked);
  return diff.result();
}

/** A name in the lower layer. Its folder is undefined if another process has removed it. */
interface LowerName {
  readonly folder: Folder | undefined;
  readonly name: string;
}

interface LowerSide extends BaseSide, LowerName {}

interface UpperSide extends NowSide {
  /** For a folder: whether it hides the lower layer completely. */
  readonly hidesLower?: boolean;
}

type LayerPair = Pair<LowerSide, UpperSide>;

class LayerDiff {
  readonly #options: LayerDiffOptions;
  readonly #builder: ChangeSetBuilder<LowerSide, UpperSide>;
  /** For each upper-layer file with several names: the base of the first unchanged name. */
  readonly #firstNames = new Map<number, BaseFacts>();

  constructor(options: LayerDiffOptions) {
    this.#options = options;
    this.#builder = new ChangeSetBuilder({
      hasBaseContent: (pair) => this.#hasBaseContent(pair),
      isOther: (pair) => this.#isOther(pair),
    });
  }

  result(): ChangeSet {
    return this.#builder.result();
  }

  *root(upper: Folder, lower: Folder): Steps {
    const noted = this.#options.record.get(ROOT_PATH);
    const now = { folder: upper, name: ROOT_PATH, facts: upper.ownFacts() };
    const base = noted && { facts: noted, folder: lower, name: ROOT_PATH };
    using _inside = base && this.#builder.compare(ROOT_PATH, base, now);
    yield* this.#merged(ROOT_PATH, upper, lower);
  }

  /** Reports a name that only the lower layer has, of a file that was changed through another name. */
  *linkedName(root: Folder, { path, storedAt }: LinkedName): Steps {
    using folder = root.openBelowIfThere(parentPath(path));
    using copies = this.#options.workspace.openBelowIfThere(parentPath(storedAt));
    const name = baseName(storedAt);
    const facts = copies?.facts(name);
    if (copies === undefined || facts === undefined) return;
    yield* this.#visit(path, { folder: copies, name, facts, storedAt }, { folder, name: baseName(path) });
  }

  /** Compares a folder that shows both layers. */
  *#merged(path: string, upper: Folder, lower: Folder | undefined): Steps {
    const only = path === ROOT_PATH ? this.#options.only : undefined;
    for (const name of this.#names(path, upper)) {
      const lowerName = this.#options.marks.whitenedName(name) ?? name;
      if (OWN_NAME.test(lowerName) || (only !== undefined && lowerName !== only)) continue;
      if (this.#options.isLeftOut(joinPath(path, lowerName))) continue;
      const facts = upper.facts(name);
      const below = { folder: lower, name: lowerName };
      if (facts !== undefined)
        yield* this.#visit(joinPath(path, lowerName), { folder: upper, name, facts }, below);
      yield 1;
    }
    for (const name of this.#options.settled.hiddenIn(path)) {
      const removed = joinPath(path, name);
      const noted = this.#options.record.get(removed);
      yield* this.#deleted(removed, { folder: lower, name }, lower?.facts(name), noted);
    }
  }

  /** Compares one name of a merged folder. */
  *#visit(path: string, now: NowSide, lower: LowerName): Steps {
    if (this.#options.settled.dropped.has(path)) return;
    const below = lower.folder?.facts(lower.name);
    const noted = this.#options.record.get(path);
    const facts = noted ?? (this.#options.isLive ? currentFacts(lower, below) : undefined);
    if (!this.#options.marks.isMark(now.folder, now.name, now.facts))
      yield* this.#compare(path, facts && { ...lower, facts }, now);
    // What is noted was deleted by the sandbox, even if another writer has it away just now: the landing
    // looks again. Without a note, a deletion on both sides is no change.
    else yield* this.#deleted(path, lower, below, facts);
  }

  /**
   * Compares the contents of a folder of one layer, or of both layers where the upper one hides the lower.
   * `storedAt` is the path of `above` in the workspace, if it is not in the upper layer.
   */
  *#replaced(path: string, above: Folder | undefined, below: Folder | undefined, storedAt?: string): Steps {
    const hidden = new Set(this.#names(path, above));
    for (const name of hidden) {
      const facts = above?.facts(name);
      if (above === undefined || facts === undefined) continue;
      if (this.#options.marks.isMark(above, name, facts)) hidden.delete(name);
      else {
        const base = currentFacts({ folder: below, name }, below?.facts(name));
        yield* this.#compare(joinPath(path, name), base && { facts: base, folder: below, name }, {
          folder: above,
          name,
          facts,
          ...(storedAt !== undefined && { storedAt: joinPath(storedAt, name) }),
        });
      }
      yield 1;
    }
    for (const name of this.#names(path, below)) {
      const lower = { folder: below, name };
      const facts = hidden.has(name) || OWN_NAME.test(name) ? undefined : below?.facts(name);
      if (facts !== undefined)
        yield* this.#deleted(joinPath(path, name), lower, facts, currentFacts(lower, facts));
      yield 1;
    }
  }

  /** Compares one path and everything below it. Skips a folder that has vanished meanwhile. */
  *#compare(path: string, base: LowerSide | undefined, now: NowSide): Steps {
    const isFolder = now.facts.kind === "directory";
    using own = isFolder ? now.folder.openBelowIfThere(now.name) : undefined;
    if (isFolder && own === undefined) return;
    using moved = own && this.#openMoved(path, own);
    const above = moved ?? own;
    const storedAt = moved === undefined ? now.storedAt : joinPath(MERGED, path);
    const wasFolder = base?.facts.kind === "directory";
    using below = wasFolder ? base.folder?.openBelowIfThere(base.name) : undefined;
    const isMerged =
      above !== undefined &&
      wasFolder &&
      !this.#builder.isCovered &&
      this.#options.settled.isMerged(path, own ?? above);
    const isAway = wasFolder && below === undefined;
    using _inside = this.#builder.compare(path, base && { ...base, isAway }, {
      ...now,
      hidesLower: !isMerged,
    });
    if (isMerged) yield* this.#merged(path, above, below);
    else if (above !== undefined || below !== undefined) yield* this.#replaced(path, above, below, storedAt);
  }

  /** A folder that a program has moved, as the mounted overlay shows it. */
  #openMoved(path: string, own: Folder): Folder | undefined {
    const { marks, mounted } = this.#options;
    const isMoved = mounted !== undefined && marks.redirectOf(own, ROOT_PATH) !== undefined;
    return isMoved ? mounted.openBelowIfThere(path) : undefined;
  }

  /** `base` is undefined if the entry appeared only after the sandbox had deleted its predecessor. */
  *#deleted(path: string, lower: LowerName, now: Facts | undefined, base: BaseFacts | undefined): Steps {
    const facts = base ?? currentFacts(lower, now);
    const side = facts && { ...lower, facts, cameLater: base === undefined };
    using _inside = this.#builder.compare(path, side, undefined);
    using folder = now?.kind === "directory" ? lower.folder?.openBelowIfThere(lower.name) : undefined;
    if (folder !== undefined) yield* this.#replaced(path, undefined, folder);
  }

  #names(path: string, folder: Folder | undefined): readonly string[] {
    assertNotTooDeep(path);
    return folder?.names() ?? [];
  }

  #hasBaseContent({ base, now }: LayerPair): boolean {
    if (base.folder === undefined || !this.#options.age.isStillBase(base.folder.facts(base.name), base.facts))
      return false;
    return now.facts.size === 0 || sameFileContent(base.folder, base.name, now.folder, now.name);
  }

  /** Whether copying up has separated a file from its other names. */
  #isOther(pair: LayerPair): boolean {
    const { base, now, parts } = pair;
    if (now.facts.kind === "directory") return now.hidesLower === true;
    return parts.length > 0 ? base.facts.nlink > 1 || now.facts.nlink > 1 : this.#isRelinked(pair);
  }

  /** Whether an otherwise untouched name has become a name of another file. */
  #isRelinked({ base, now: { facts } }: LayerPair): boolean {
    if (this.#builder.isCovered || facts.nlink < 2) return false;
    const first = this.#firstNames.get(facts.ino);
    if (first === undefined) this.#firstNames.set(facts.ino, base.facts);
    return first !== undefined && !sameIdentity(first, base.facts);
  }
}

/** The lower layer's current entry, as a base. */
function currentFacts({ folder, name }: LowerName, facts: Facts | undefined): BaseFacts | undefined {
  return folder === undefined || facts === undefined ? undefined : lowerFacts(folder, name, facts);
}
