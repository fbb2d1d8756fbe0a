import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { failedWith } from "../../system/calls/errno.ts";
import { lastFacts, sameIdentity, statListed } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { listedInode, nameBlocks, nameFrom } from "../../system/calls/listing.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { Baseline, CopyFacts } from "../base/baseline.ts";
import { lastStat } from "../base/stat-view.ts";
import { assertNotTooDeep } from "../tree/walk.ts";
import type { Steps } from "../work/pace.ts";
import type { ChangeSet } from "./change-set.ts";
import { ChangeSetBuilder, type NowSide, type Pair } from "./change-set-builder.ts";

/** The facts that a diff of a copied tree can't find in the tree. */
export interface TreeDiffOptions {
  /** If the resource is a single file: its name. Other names in the folder are not ours. */
  readonly only?: string;
  /** Whether the sandbox's file has the content that the original had when it was copied. */
  readonly hasBaseContent: (path: string, sandbox: Folder, name: string, base: BaseFacts) => boolean;
  /** Whether the entry at this index still has this inode, and nothing at or below it was touched. */
  readonly isKnownUntouched?: (index: number, ino: number) => boolean;
}

/** The part of a baseline that a diff uses. */
export type BaseEntries = Pick<
  Baseline,
  "root" | "name" | "isNamed" | "children" | "isFolder" | "isUntouched" | "copy" | "facts"
>;

/**
 * Compares a copied tree with its baseline. Reads a file's content only if its change time moved and no other
 * fact decides.
 */
export function* diffTree(tree: Folder, baseline: BaseEntries, options: TreeDiffOptions): Steps<ChangeSet> {
  const diff = new TreeDiff(baseline, options);
  yield* diff.root(tree);
  return diff.result();
}

interface CopiedSide {
  readonly facts: BaseFacts;
  readonly first: CopyFacts;
}

/** A listed name that needs a closer look. `now` is absent for a folder that is itself untouched. */
interface ListedEntry {
  readonly name: string;
  readonly index: number | undefined;
  readonly now?: NowSide;
}

interface ListedBlock {
  /** The number of names in the block. */
  readonly looked: number;
  readonly listed: readonly ListedEntry[];
}

/** Creates no objects for untouched entries: a tree may have a million. */
class TreeDiff {
  readonly #baseline: BaseEntries;
  readonly #options: TreeDiffOptions;
  readonly #builder: ChangeSetBuilder<CopiedSide>;

  constructor(baseline: BaseEntries, options: TreeDiffOptions) {
    this.#baseline = baseline;
    this.#options = options;
    this.#builder = new ChangeSetBuilder({
      hasBaseContent: ({ path, base, now }) => options.hasBaseContent(path, now.folder, now.name, base.facts),
      isOther: (pair) => this.#isOther(pair),
    });
  }

  result(): ChangeSet {
    return this.#builder.result();
  }

  *root(tree: Folder): Steps {
    const { root } = this.#baseline;
    const now = { folder: tree, name: ROOT_PATH, facts: tree.ownFacts() };
    using _inside = this.#options.only === undefined ? this.#compare(ROOT_PATH, root, now) : undefined;
    yield* this.#contents(ROOT_PATH, tree, root);
  }

  /** Compares the contents of a folder that exists on one side or on both. */
  *#contents(path: string, folder: Folder | undefined, index: number | undefined): Steps {
    assertNotTooDeep(path);
    const names = new BaseNames(this.#baseline, index);
    if (folder !== undefined)
      for (const { looked, listed } of this.#list(path, folder, names)) {
        yield looked - listed.length;
        for (const { name, index: child, now } of listed) {
          const childPath = joinPath(path, name);
          if (now === undefined)
            yield* this.#untouchedFolder(childPath, folder.openBelowIfThere(name), child);
          else yield* this.#visit(childPath, child, now);
          yield 1;
        }
      }
    for (const child of names.unseen()) {
      yield* this.#visit(joinPath(path, this.#baseline.name(child)), child, undefined);
      yield 1;
    }
  }

  /** The names in a folder that need a closer look, block by block. */
  *#list(path: string, folder: Folder, names: BaseNames): Generator<ListedBlock> {
    let listed: ListedEntry[] = [];
    let looked = 0;
    const only = path === ROOT_PATH ? this.#options.only : undefined;
    const { isKnownUntouched } = this.#options;
    const blocks = nameBlocks(folder, (bytes, start, end, pointer) => {
      if (only !== undefined && nameFrom(bytes, start, end) !== only) return;
      looked += 1;
      const index = names.find(bytes, start, end);
      const isKnown = index !== undefined && isKnownUntouched?.(index, listedInode(bytes, start)) === true;
      if (!isKnown && !statListed(folder, pointer)) return;
      if (index !== undefined) names.see(index);
      if (!isKnown && !this.#isUntouchedFile(index))
        listed.push(...this.#look(path, folder, nameFrom(bytes, start, end), index));
    });
    for (const _ of blocks) {
      yield { looked, listed };
      listed = [];
      looked = 0;
    }
  }

  /** Whether the last stat shows an untouched file with one name: nearly all files are. */
  #isUntouchedFile(index: number | undefined): boolean {
    if (index === undefined || this.#baseline.isFolder(index) || lastStat.nlink > 1) return false;
    return this.#baseline.isUntouched(index, lastStat);
  }

  /** Handles the entry of the last stat, or returns it if it needs a closer look. */
  #look(path: string, folder: Folder, name: string, index: number | undefined): readonly ListedEntry[] {
    const isUntouched = index !== undefined && this.#baseline.isUntouched(index, lastStat);
    if (isUntouched && this.#baseline.isFolder(index)) return [{ name, index }];
    // Another name of an untouched file may have moved here with a folder.
    if (isUntouched) this.#builder.anchor(joinPath(path, name), lastStat.ino);
    if (isUntouched) return [];
    const now = { folder, name, facts: lastFacts() };
    if (index !== undefined || now.facts.kind === "directory") return [{ name, index, now }];
    this.#compareIfThere(joinPath(path, name), index, now)[Symbol.dispose]();
    return [];
  }

  *#untouchedFolder(path: string, opened: Folder | undefined, index: number | undefined): Steps {
    using folder = opened;
    if (folder === undefined) yield* this.#visit(path, index, undefined);
    else yield* this.#contents(path, folder, index);
  }

  /**
   * Compares one path and everything below it. A name that another process removes meanwhile counts as
   * deleted.
   */
  *#visit(path: string, index: number | undefined, now: NowSide | undefined): Steps {
    using folder = now?.facts.kind === "directory" ? now.folder.openBelowIfThere(now.name) : undefined;
    const isGone = now?.facts.kind === "directory" && folder === undefined;
    using _inside = this.#compareIfThere(path, index, isGone ? undefined : now);
    if (folder !== undefined || (index !== undefined && this.#baseline.isFolder(index)))
      yield* this.#contents(path, folder, index);
  }

  #compareIfThere(path: string, index: number | undefined, now: NowSide | undefined): Disposable {
    try {
      return this.#compare(path, index, now);
    } catch (thrown) {
      if (!failedWith(thrown, "ENOENT") || now?.folder.facts(now.name) !== undefined) throw thrown;
      return this.#compare(path, index, undefined);
    }
  }

  #compare(path: string, index: number | undefined, now: NowSide | undefined): Disposable {
    return this.#builder.compare(path, index === undefined ? undefined : this.#base(index), now);
  }

  #base(index: number): CopiedSide {
    return { facts: this.#baseline.facts(index), first: this.#baseline.copy(index) };
  }

  /**
   * Another folder under the same name counts as replaced, except for the root. Another file does if either
   * has several names.
   */
  #isOther({ path, base, now }: Pair<CopiedSide>): boolean {
    if (path === ROOT_PATH || sameIdentity(now.facts, base.first)) return false;
    return now.facts.kind === "directory" || now.facts.nlink > 1 || base.facts.nlink > 1;
  }
}

/** The names in a folder of the baseline, and which of them the listing has shown. */
class BaseNames {
  readonly #baseline: BaseEntries;
  readonly #from: number;
  readonly #seen: Uint8Array;
  #next: number;
  #table: Map<string, number> | undefined;

  constructor(baseline: BaseEntries, index: number | undefined) {
    const [from, to] = index === undefined ? [0, 0] : baseline.children(index);
    this.#baseline = baseline;
    this.#from = from;
    this.#next = from;
    this.#seen = new Uint8Array(to - from);
  }

  get size(): number {
    return this.#seen.length;
  }

  /** Names mostly come in the order of copying; a table is built only where they do not. */
  find(bytes: Buffer, start: number, end: number): number | undefined {
    const baseline = this.#baseline;
    const to = this.#from + this.size;
    if (this.#table === undefined && this.#next < to && baseline.isNamed(this.#next, bytes, start, end)) {
      this.#next += 1;
      return this.#next - 1;
    }
    if (this.size === 0) return undefined;
    if (this.#table === undefined) {
      this.#table = new Map();
      for (let at = this.#from; at < to; at += 1) this.#table.set(baseline.name(at), at);
    }
    return this.#table.get(nameFrom(bytes, start, end));
  }

  see(index: number): void {
    this.#seen[index - this.#from] = 1;
  }

  *unseen(): Generator<number> {
    for (let at = 0; at < this.size; at += 1) if (this.#seen[at] === 0) yield this.#from + at;
  }
}
