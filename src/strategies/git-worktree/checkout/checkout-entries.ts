import type { Conflict } from "../../../core/errors/errors.ts";
import { comparePaths, joinPath, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import type { BaseFacts } from "../../../engine/base/base-facts.ts";
import type { ChangeSet, EntryOperation } from "../../../engine/changes/change-set.ts";
import { ChangeSetBuilder } from "../../../engine/changes/change-set-builder.ts";
import type { Facts } from "../../../system/calls/facts.ts";
import type { Folder } from "../../../system/calls/folder.ts";

/** The changes of a checkout as git lists them: single paths. */
export interface PathChanges {
  /** New or changed files and links. `incoming` holds their content. */
  readonly writes: readonly string[];
  readonly removes: readonly string[];
  readonly incoming: Folder;
}

/**
 * The changes as the exchange transaction takes them: the topmost paths that are added, deleted or replaced.
 */
export interface CheckoutEntries {
  readonly changes: ChangeSet;
  readonly conflicts: readonly Conflict[];
  /** The state of the checkout when the entries were built. */
  readonly baseOf: (path: string) => BaseFacts | undefined;
}

/**
 * Combines single paths into entries. Folders follow their files as with git: a missing folder comes with the
 * first file in it. A folder goes with the last one, unless it holds something that git does not track.
 */
export class EntryBuilder {
  readonly #original: Folder;
  readonly #incoming: Folder;
  readonly #removes: ReadonlySet<string>;
  readonly #foldersOfWrites: ReadonlySet<string>;
  readonly #facts = new Map<string, Facts | undefined>();
  readonly #emptied = new Map<string, boolean>();
  readonly #entries = new Map<string, EntryOperation>();
  readonly #conflicts: Conflict[] = [];

  constructor(original: Folder, { writes, removes, incoming }: PathChanges) {
    this.#original = original;
    this.#incoming = incoming;
    this.#removes = new Set(removes);
    this.#foldersOfWrites = new Set(writes.flatMap((path) => foldersAbove(path)));
  }

  build({ writes, removes }: PathChanges): CheckoutEntries {
    for (const path of writes.toSorted(comparePaths)) this.#write(path);
    for (const path of removes.toSorted(comparePaths)) this.#remove(path);
    const builder = new ChangeSetBuilder();
    for (const [path, operation] of this.#entries)
      builder.entry(path, operation, {
        before: this.#base(path),
        after: operation === "delete" ? undefined : this.#incoming.factsBelow(path),
      });
    for (const path of [...writes, ...removes]) {
      const before = this.#base(path);
      const after = this.#removes.has(path) ? undefined : this.#incoming.factsBelow(path);
      const operation = before === undefined ? "added" : after === undefined ? "deleted" : "modified";
      builder.change(path, operation, { before, after });
    }
    return { changes: builder.result(), conflicts: this.#conflicts, baseOf: (path) => this.#base(path) };
  }

  #write(path: string): void {
    for (const at of [...foldersAbove(path).toReversed(), path]) {
      if (this.#entries.has(at)) return;
      const facts = this.#look(at);
      if (facts === undefined) {
        this.#entries.set(at, "add");
        return;
      }
      if (at !== path && facts.kind === "directory") continue;
      if (this.#mayBeReplaced(at, path, facts)) this.#entries.set(at, "replace");
      else this.#conflicts.push({ path: at, why: IN_THE_WAY });
      return;
    }
  }

  /**
   * A file that a folder replaces must be among the removed ones, and so must everything in a folder that a
   * file replaces.
   */
  #mayBeReplaced(at: string, path: string, facts: Facts): boolean {
    if (facts.kind === "directory") return this.#holdsOnlyRemoved(at);
    return at === path || this.#removes.has(at);
  }

  #remove(path: string): void {
    if ([...foldersAbove(path), path].some((at) => this.#entries.has(at)) || this.#look(path) === undefined)
      return;
    const folder = foldersAbove(path)
      .toReversed()
      .find((at) => !this.#foldersOfWrites.has(at) && this.#isEmptied(at));
    this.#entries.set(folder ?? path, "delete");
  }

  /** Whether a folder is empty once the files are removed. A folder that was empty before does not count. */
  #isEmptied(folder: string): boolean {
    const known = this.#emptied.get(folder);
    if (known !== undefined) return known;
    const names = this.#names(folder);
    const isEmptied = names.length > 0 && names.every((name) => this.#goes(joinPath(folder, name), false));
    this.#emptied.set(folder, isEmptied);
    return isEmptied;
  }

  #holdsOnlyRemoved(folder: string): boolean {
    return this.#names(folder).every((name) => this.#goes(joinPath(folder, name), true));
  }

  #goes(path: string, withEmptyFolders: boolean): boolean {
    if (this.#look(path)?.kind !== "directory") return this.#removes.has(path);
    return withEmptyFolders ? this.#holdsOnlyRemoved(path) : this.#isEmptied(path);
  }

  #base(path: string): BaseFacts | undefined {
    const facts = this.#look(path);
    return facts === undefined ? undefined : { ...facts, xattrs: {} };
  }

  #look(path: string): Facts | undefined {
    if (!this.#facts.has(path)) this.#facts.set(path, this.#original.factsBelow(path));
    return this.#facts.get(path);
  }

  #names(folder: string): string[] {
    using open = this.#original.openBelowIfThere(folder);
    return open?.names() ?? [];
  }
}

const IN_THE_WAY = "something that git does not track is in the way";

/** The folders above a path, the innermost first, without the root. */
export function foldersAbove(path: string): string[] {
  const folders: string[] = [];
  for (let at = parentPath(path); at !== ROOT_PATH; at = parentPath(at)) folders.push(at);
  return folders;
}
