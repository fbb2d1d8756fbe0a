import { SandboxCommitError, UnsupportedError } from "../../core/errors/errors.ts";
import { comparePaths, joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import { baseFacts } from "../base/base-facts.ts";
import type { ChangeSet, FolderTime, TreeEntry } from "../changes/change-set.ts";
import { type BaseSide, ChangeSetBuilder, type NowSide } from "../changes/change-set-builder.ts";
import type { Rows } from "../changes/rows.ts";
import { Conflicts } from "../checks/conflicts.ts";
import { Obstacles } from "../checks/obstacles.ts";
import { RenamedPaths } from "../manifest/renamed-paths.ts";
import { sameFileContent } from "../tree/same-entry.ts";
import { walkFrom } from "../tree/walk.ts";
import type { Steps } from "../work/pace.ts";
import { comesIn, type RenamingInput, type StagingInput } from "./staging-input.ts";

/**
 * Finds folders that the work has renamed: one that goes, and one that comes with the same content. In an
 * upper layer the one that comes is made of copies, whatever made them (the kernel, the supervisor, `mv`). If
 * the original's folder gets the other name instead, its files stay the same files: with their numbers, their
 * other names, and the processes that have them open. What differs inside are entries of their own, and no
 * more than those leave the sandbox.
 *
 * It makes no difference for the outcome: both folders are compared here, with their contents. Where a rename
 * could not give exactly what is in the sandbox, the two stay what they are, a deletion and an addition.
 */
interface RenamedFolder {
  readonly from: string;
  readonly to: string;
  /** What differs inside, with paths in the new folder. */
  readonly inside: Pick<ChangeSet, "entries" | "folderTimes">;
}

/** Adds the renamed folders to the input, and what differs in them to its changes. */
export function* withRenames(input: StagingInput): Steps<RenamingInput> {
  const found = yield* findRenamed(input);
  const { entries, folderTimes } = input.changes;
  const inside = found.map((folder) => folder.inside);
  const changes = {
    ...input.changes,
    entries: merged([entries, ...inside.map((each) => each.entries)]),
    folderTimes: merged([folderTimes, ...inside.map((each) => each.folderTimes)]),
  };
  const renames = new RenamedPaths(found.map(({ from, to }) => ({ path: from, renamedTo: to })));
  return { ...input, changes, renames };
}

function* findRenamed(input: StagingInput): Steps<RenamedFolder[]> {
  const [come, go]: [TreeEntry[], TreeEntry[]] = [[], []];
  for (const entry of input.changes.entries) {
    if (entry.operation === "add" && entry.after?.kind === "directory") come.push(entry);
    if (entry.operation === "delete" && entry.before?.kind === "directory") go.push(entry);
  }
  const names = new FoldersByNames(input.original, go);
  const found: RenamedFolder[] = [];
  for (const coming of come) {
    const going = names.mostLike(input.sandbox, coming);
    const inside = going && (yield* new Comparison(input, going, coming).run());
    if (going === undefined || inside === undefined) continue;
    names.take(going);
    found.push({ from: going.path, to: coming.path, inside });
  }
  return found;
}

/** The folders that go, by the names in them. */
class FoldersByNames {
  readonly #byName = new Map<string, TreeEntry[]>();
  readonly #sizes = new Map<TreeEntry, number>();

  constructor(original: Folder, folders: readonly TreeEntry[]) {
    for (const entry of folders) {
      using folder = original.openBelowIfThere(entry.path);
      const names = folder?.names() ?? [];
      this.#sizes.set(entry, names.length);
      for (const name of names) {
        const known = this.#byName.get(name);
        if (known === undefined) this.#byName.set(name, [entry]);
        else known.push(entry);
      }
    }
  }

  /** The folder with the most names of this one, if these are at least half of all names. */
  mostLike(sandbox: Folder, { path }: TreeEntry): TreeEntry | undefined {
    using folder = sandbox.openBelowIfThere(path);
    const names = folder?.names() ?? [];
    const shared = new Map<TreeEntry, number>();
    for (const name of names)
      for (const entry of this.#byName.get(name) ?? [])
        if (this.#sizes.has(entry)) shared.set(entry, (shared.get(entry) ?? 0) + 1);
    const [best] = [...shared].sort(([, a], [, b]) => b - a);
    if (best === undefined) return undefined;
    const [entry, count] = best;
    return count * 2 >= Math.max(names.length, this.#sizes.get(entry) ?? 0) ? entry : undefined;
  }

  /** A folder gets only one other name. */
  take(entry: TreeEntry): void {
    this.#sizes.delete(entry);
  }
}

interface LinkedFile {
  readonly nlink: number;
  /** Its number in the original. */
  readonly original: number;
  /** How many of its names are in the folder, and the same on both sides. */
  found: number;
}

interface OriginalSide extends BaseSide {
  readonly folder: Folder;
  readonly name: string;
}

/** Compares a folder of the original with the one in the sandbox that may be the same with another name. */
class Comparison {
  readonly #input: StagingInput;
  readonly #going: TreeEntry;
  readonly #coming: TreeEntry;
  readonly #builder = new ChangeSetBuilder<OriginalSide>({
    hasBaseContent: ({ base, now }) => sameFileContent(base.folder, base.name, now.folder, now.name),
    isOther: () => false,
  });
  readonly #paths: RenamedPaths;
  /** The files of the sandbox with several names. */
  readonly #names = new Map<number, LinkedFile>();
  /** The files that are the same on both sides. */
  #files = 0;
  #isExact = true;

  constructor(input: StagingInput, going: TreeEntry, coming: TreeEntry) {
    this.#input = input;
    this.#going = going;
    this.#coming = coming;
    this.#paths = new RenamedPaths([{ path: going.path, renamedTo: coming.path }]);
  }

  /** What differs inside, or undefined if a rename would not be exact, or would not be worth it. */
  *run(): Steps<RenamedFolder["inside"] | undefined> {
    if (!this.#mayLand()) return undefined;
    const { original, sandbox } = this.#input;
    this.#itself();
    for (const waiting = [this.#coming.path]; waiting.length > 0; ) {
      const path = waiting.pop() as string;
      using now = sandbox.openBelowIfThere(path);
      using base = original.openBelowIfThere(this.#paths.before(path));
      if (now === undefined || base === undefined) return undefined;
      for (const name of new Set([...now.names(), ...base.names()])) {
        if (this.#one(joinPath(path, name), { base, now }, name)) waiting.push(joinPath(path, name));
        yield 1;
      }
      if (!this.#isExact) return undefined;
    }
    const inside = this.#builder.result();
    return this.#files > 0 && this.#areLinksKept() && this.#canLand(inside) ? inside : undefined;
  }

  /** Whether the two land at all: conflicts are found and told elsewhere. */
  #mayLand(): boolean {
    const judged = [this.#going, this.#coming].map((entry) => {
      using conflicts = new Conflicts(this.#input);
      return conflicts.judge(entry);
    });
    return typeof judged[0] === "object" && judged[1] === "nothing";
  }

  #itself(): void {
    const { original, sandbox } = this.#input;
    using base = original.openBelow(this.#going.path);
    using now = sandbox.openBelow(this.#coming.path);
    this.#compare(this.#coming.path, [base, ROOT_PATH, base.ownFacts()], [now, ROOT_PATH, now.ownFacts()]);
  }

  /** Compares one name of two folders. Returns whether both have a folder there. */
  #one(path: string, { base, now }: { readonly base: Folder; readonly now: Folder }, name: string): boolean {
    const [was, is] = [base.facts(name), now.facts(name)];
    this.#compare(path, was && [base, name, was], is && [now, name, is]);
    return was?.kind === "directory" && is?.kind === "directory";
  }

  #compare(path: string, was: Found | undefined, is: Found | undefined): void {
    const base = was && { folder: was[0], name: was[1], facts: baseFacts(...was) };
    const now: NowSide | undefined = is && { folder: is[0], name: is[1], facts: is[2] };
    if (is !== undefined && !this.#landsAsIs(path, is)) this.#isExact = false;
    const before = this.#builder.count;
    using _ = this.#builder.compare(path, base, now);
    if (was === undefined || is === undefined || is[2].kind === "directory") return;
    if (this.#builder.count === before) this.#same(was[2], is[2]);
    // Which of its names changes with it can't be told here.
    else if (was[2].nlink > 1 || is[2].nlink > 1) this.#isExact = false;
  }

  #landsAsIs(path: string, [folder, name, facts]: Found): boolean {
    return this.#input.rules.landsAsIs(path, facts, () => readXattrs(folder, name));
  }

  /**
   * Notes a file that is the same on both sides. Where the sandbox has lost its other names, because an
   * overlay without privilege copies each name by itself, it keeps those of the original.
   */
  #same(was: Facts, is: Facts): void {
    this.#files += 1;
    if (is.nlink < 2) return;
    const names = this.#names.get(is.ino) ?? { nlink: is.nlink, original: was.ino, found: 0 };
    names.found += 1;
    this.#names.set(is.ino, names);
    if (names.original !== was.ino) this.#isExact = false;
  }

  /**
   * Whether every file with several names has all of them in the folder, or another one in the original that
   * stays: a name that comes elsewhere becomes a link to that one.
   */
  #areLinksKept(): boolean {
    const { original, changes } = this.#input;
    for (const [ino, file] of this.#names) {
      const anchor = changes.anchors.get(ino);
      const stays = anchor === undefined ? undefined : original.factsBelow(anchor)?.ino;
      if (file.found < file.nlink && stays !== file.original) return false;
    }
    return true;
  }

  /** Whether what differs inside can land by itself. */
  #canLand({ entries }: ChangeSet): boolean {
    const obstacles = new Obstacles(this.#input.original);
    for (const entry of entries) {
      const path = this.#paths.before(entry.path);
      const { operation, before, after, parts } = entry;
      if (parts?.includes("owner") === true) return false;
      const isNewFolder = comesIn(entry) && after?.kind === "directory";
      if (isNewFolder && hasLinks(this.#input.sandbox, entry.path)) return false;
      try {
        obstacles.judge({ path, operation, before, after }, this.#input.original.factsBelow(path));
      } catch (thrown) {
        if (!(thrown instanceof SandboxCommitError || thrown instanceof UnsupportedError)) throw thrown;
        // What is in the way of one of these may not be in the way of the whole folder.
        return false;
      }
    }
    return obstacles.unlocks.length === 0;
  }
}

type Found = [folder: Folder, name: string, facts: Facts];

function hasLinks(sandbox: Folder, path: string): boolean {
  return walkFrom(sandbox, path).some(({ facts }) => facts.kind !== "directory" && facts.nlink > 1);
}

/** All of these, in path order. There are few lists, and all but the first are held anyway. */
function merged<Row extends TreeEntry | FolderTime>(lists: readonly Rows<Row>[]): Rows<Row> {
  const [first, ...rest] = lists;
  if (first === undefined || rest.every(({ length }) => length === 0)) return first ?? NO_ROWS;
  const length = lists.reduce((sum, each) => sum + each.length, 0);
  const more = rest.flatMap((each) => [...each]).sort((a, b) => comparePaths(a.path, b.path));
  return {
    length,
    *[Symbol.iterator](): Generator<Row, undefined> {
      let at = 0;
      for (const row of first) {
        for (; at < more.length && comparePaths((more[at] as Row).path, row.path) < 0; at += 1)
          yield more[at] as Row;
        yield row;
      }
      yield* more.slice(at);
      return undefined;
    },
  };
}

const NO_ROWS: Rows<never> = { length: 0, [Symbol.iterator]: () => [].values() };
