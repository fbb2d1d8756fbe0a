import type { ChangeOperation } from "../../core/change.ts";
import { type Facts, isDevice } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import { changedParts, type MetadataPart } from "../tree/metadata.ts";
import type { ChangeSet, EntryOperation, TreeChange } from "./change-set.ts";
import { PackedChanges, type Sides } from "./packed-changes.ts";

/** The base of one path. */
export interface BaseSide {
  readonly facts: BaseFacts;
  /** The mode and owner that the sandbox's entry began with, where it could not keep those of the base. */
  readonly first?: Pick<BaseFacts, "mode" | "uid" | "gid">;
  /**
   * The sandbox did not begin with it: another process made it after the sandbox had deleted its predecessor.
   */
  readonly cameLater?: boolean;
  /** It is a folder that another writer has away, so its contents can't be compared. */
  readonly isAway?: boolean;
}

/** The sandbox's entry at one path. */
export interface NowSide {
  readonly folder: Folder;
  readonly name: string;
  readonly facts: Facts;
  /** As `storedAt` of a change. */
  readonly storedAt?: string;
}

/** A path that exists on both sides, with the same kind. */
export interface Pair<Base extends BaseSide = BaseSide, Now extends NowSide = NowSide> {
  readonly path: string;
  readonly base: Base;
  readonly now: Now;
  /** The parts of its metadata that differ. */
  readonly parts: readonly MetadataPart[];
}

/** The questions that only the kind of sandbox can answer. */
export interface PairRules<Base extends BaseSide, Now extends NowSide> {
  /** Whether a file of the same size as its base also has the same content. */
  readonly hasBaseContent: (pair: Pair<Base, Now>) => boolean;
  /**
   * Whether the sandbox's folder is not the one that it began with; for files with several names, whether its
   * file is not.
   */
  readonly isOther: (pair: Pair<Base, Now>) => boolean;
}

/**
 * Builds a change set. A walker reports every path that may differ, with both sides, and reports the contents
 * of a folder before it disposes of the result of `compare`:
 *
 *   using _inside = builder.compare(path, base, now);
 *   … report the contents …
 *
 * The builder decides which paths are changes and which are entries. Nothing below an entry is an entry.
 */
export class ChangeSetBuilder<Base extends BaseSide = BaseSide, Now extends NowSide = NowSide> {
  readonly #rules: PairRules<Base, Now>;
  readonly #packed = new PackedChanges();
  /** Folders with another time, inside a folder of which it is not known yet whether it moves as a whole. */
  readonly #undecidedTimes: { readonly path: string; readonly after: Facts }[] = [];
  readonly #anchors = new Map<number, string>();
  /** The number of open folders that are entries, or may become entries. */
  #covers = 0;
  readonly #cover: Disposable = {
    [Symbol.dispose]: () => {
      this.#covers -= 1;
    },
  };

  /** Without rules every file that is reported on both sides counts as changed. */
  constructor(rules: PairRules<Base, Now> = ALL_CHANGED) {
    this.#rules = rules;
  }

  /** Whether the paths reported now lie below an entry. */
  get isCovered(): boolean {
    return this.#covers > 0;
  }

  /** The number of changes so far. */
  get count(): number {
    return this.#packed.changes;
  }

  result(): ChangeSet {
    return { ...this.#packed.sorted(), anchors: this.#anchors };
  }

  /** Reports one path. Everything reported before the result is disposed of lies inside it. */
  compare(path: string, base: Base | undefined, now: Now | undefined): Disposable {
    if (base === undefined) return now === undefined ? NOTHING : this.#added(path, now);
    if (now === undefined) return this.#deleted(path, base);
    if (isOtherKind(base.facts, now.facts)) return this.#retyped(path, base, now);
    if (now.facts.kind === "directory") return this.#folder(path, base, now);
    this.#leaf(path, base, now);
    return NOTHING;
  }

  /** Reports an unchanged name of a file with several names. */
  anchor(path: string, ino: number): void {
    if (!this.isCovered && !this.#anchors.has(ino)) this.#anchors.set(ino, path);
  }

  /** Adds only a change, where the walker knows more than the two sides show. */
  change(path: string, operation: ChangeOperation, sides: Sides): void {
    this.#packed.add(path, { change: operation }, sides);
  }

  /** Adds only an entry, unless an entry above covers it. */
  entry(path: string, operation: EntryOperation, sides: Sides): void {
    if (!this.isCovered) this.#packed.add(path, { entry: operation }, sides);
  }

  #both(path: string, [change, entry]: readonly [ChangeOperation, EntryOperation], sides: Sides): void {
    this.#packed.add(path, { change, entry: this.isCovered ? undefined : entry }, sides);
  }

  #added(path: string, { facts, storedAt }: NowSide): Disposable {
    this.#both(path, ["added", "add"], { after: facts, storedAt });
    return this.#coverAll();
  }

  #deleted(path: string, { facts, cameLater }: BaseSide): Disposable {
    if (cameLater === true) {
      this.change(path, "deleted", { before: facts });
      this.entry(path, "delete", {});
    } else this.#both(path, ["deleted", "delete"], { before: facts });
    return this.#coverAll();
  }

  #retyped(path: string, base: BaseSide, now: NowSide): Disposable {
    this.#both(path, ["typechanged", "replace"], {
      before: base.facts,
      after: now.facts,
      storedAt: now.storedAt,
    });
    return this.#coverAll();
  }

  #leaf(path: string, base: Base, now: Now): void {
    const { parts, xattrs } = differences(base, now);
    const pair = { path, base, now, parts };
    const isReplaced = !this.#hasBaseContent(pair) || this.#rules.isOther(pair);
    if (!isReplaced && now.facts.nlink > 1) this.anchor(path, now.facts.ino);
    if (!isReplaced && parts.length === 0) return;
    this.#both(path, ["modified", isReplaced ? "replace" : "metadata"], {
      before: base.facts,
      after: now.facts,
      xattrs,
      parts: isReplaced ? undefined : parts,
      storedAt: now.storedAt,
    });
  }

  #hasBaseContent(pair: Pair<Base, Now>): boolean {
    const { base, now } = pair;
    if (now.facts.kind === "symlink") return now.folder.readLink(now.name) === base.facts.target;
    if (now.facts.kind !== "file") return true;
    return now.facts.size === base.facts.size && this.#rules.hasBaseContent(pair);
  }

  /**
   * Compares a folder that both sides have. A replaced folder matters only if its contents differ, or may
   * differ.
   */
  #folder(path: string, base: Base, now: Now): Disposable {
    const { parts, xattrs } = differences(base, now);
    const pair = { path, base, now, parts };
    const before = { changes: this.#packed.changes, times: this.#undecidedTimes.length };
    const isOther = this.#rules.isOther(pair);
    if (isOther) this.#covers += 1;
    if (parts.includes("mtime")) this.#time(path, now.facts);
    const others = parts.filter((part) => part !== "mtime");
    const sides = { before: base.facts, after: now.facts };
    if (others.length > 0 || (isOther && base.isAway === true))
      this.#both(path, ["modified", "metadata"], { ...sides, xattrs, parts: others });
    if (!isOther) return NOTHING;
    return {
      [Symbol.dispose]: () => {
        this.#covers -= 1;
        if (this.#packed.changes !== before.changes) {
          this.entry(path, "replace", sides);
          // A folder that moves as a whole keeps the times inside it.
          this.#undecidedTimes.length = before.times;
        }
        if (this.#covers === 0)
          for (const time of this.#undecidedTimes.splice(0)) this.#time(time.path, time.after);
      },
    };
  }

  #time(path: string, after: Facts): void {
    if (this.isCovered) this.#undecidedTimes.push({ path, after });
    else this.#packed.add(path, { hasOtherTime: true }, { after });
  }

  #coverAll(): Disposable {
    this.#covers += 1;
    return this.#cover;
  }
}

const ALL_CHANGED = { hasBaseContent: () => false, isOther: () => false };
const NOTHING: Disposable = { [Symbol.dispose]: () => undefined };

/** The parts of the metadata that differ, and the sandbox's attributes if those are among them. */
function differences(
  { facts: base, first = base }: BaseSide,
  { folder, name, facts }: NowSide,
): Pick<TreeChange, "xattrs"> & { readonly parts: readonly MetadataPart[] } {
  const xattrs = readXattrs(folder, name);
  const parts = changedParts(first, base, { facts, xattrs });
  return { parts, xattrs: parts.includes("xattrs") ? xattrs : undefined };
}

function isOtherKind(base: BaseFacts, facts: Facts): boolean {
  return base.kind !== facts.kind || (isDevice(facts.kind) && base.rdev !== facts.rdev);
}
