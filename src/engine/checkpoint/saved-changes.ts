import { createHash } from "node:crypto";
import { baseName, nearest, parentPath } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { BaseFacts } from "../base/base-facts.ts";
import type { ChangeSet, EntryOperation, FolderTime, TreeChange } from "../changes/change-set.ts";
import { replacedFolders } from "../changes/replaced-folders.ts";
import { type Metadata, metadataOf } from "../tree/metadata.ts";

/**
 * The differences from the baseline that a checkpoint of a copied tree records, besides copies of the added
 * and replaced entries. Everything else is still in the sandbox or in the original.
 */
export interface SavedChanges {
  /** In path order; see TreeEntry. */
  readonly entries: readonly SavedEntry[];
  readonly folderTimes: readonly FolderTime[];
  /** Names among the copies that share a file with a name outside of them. */
  readonly links: readonly (readonly [path: string, other: string])[];
  /** Files among the copies with several names. */
  readonly linked: readonly string[];
  /** The last move of the base at that time (base-moves.ts). Absent: there was none. */
  readonly lastMove?: number;
}

export interface SavedEntry {
  readonly path: string;
  readonly operation: EntryOperation;
  /** A digest that stays the same while the entry and everything below it are untouched. */
  readonly print: string;
  /** If only the metadata changed. */
  readonly metadata?: Metadata;
}

/**
 * Prepares these changes for a checkpoint. `isInOriginal` says whether the original still has the content of
 * a file of which only the metadata changed: if not, the checkpoint needs the content too.
 */
export function savedChanges(
  changes: ChangeSet,
  own: Folder,
  isInOriginal: (path: string, base: BaseFacts | undefined) => boolean,
): SavedChanges {
  const prints = printsOf(changes, own);
  const entries = Array.from(changes.entries, ({ path, operation, before }): SavedEntry => {
    const print = prints.get(path) ?? "";
    if (operation !== "metadata") return { path, operation, print };
    const isWhole = before?.kind === "directory" || isInOriginal(path, before);
    return isWhole
      ? { path, operation, print, metadata: metadataAt(own, path) }
      : { path, operation: "replace", print };
  });
  const linked = Iterator.from(changes.changes)
    .filter(({ after }) => after !== undefined && isLinked(after))
    .map(({ path }) => path)
    .toArray();
  return { entries, folderTimes: [...changes.folderTimes], links: linksOf(changes), linked };
}

/** The differences in the notes of a checkpoint. */
export function savedIn(notes: Buffer): SavedChanges {
  return JSON.parse(notes.toString()) as SavedChanges;
}

/** The paths whose entries have to be copied. */
export function pathsToCopy({ entries }: Pick<SavedChanges, "entries">): string[] {
  return entries
    .filter(({ operation }) => operation === "add" || operation === "replace")
    .map(({ path }) => path);
}

/** A digest for each entry, over the inodes and change times of everything in it. */
export function printsOf(found: ChangeSet, own: Folder): ReadonlyMap<string, string> {
  const moved = new Set(
    Iterator.from(found.entries)
      .filter(({ operation }) => operation !== "metadata")
      .map(({ path }) => path),
  );
  const parts = new Map<string, string[]>();
  const add = (entry: string, print: string) => {
    const known = parts.get(entry);
    if (known === undefined) parts.set(entry, [print]);
    else known.push(print);
  };
  for (const change of found.changes) add(nearest(moved, change.path) ?? change.path, printOf(change));
  for (const { entry, path, facts } of replacedFolders(found, own))
    add(entry, printOf({ path, operation: "folder", after: facts }));
  return new Map(
    [...parts].map(([path, prints]) => [
      path,
      createHash("sha256").update(prints.join("\n")).digest("base64url"),
    ]),
  );
}

/** The current metadata of an entry. */
export function metadataAt(own: Folder, path: string): Metadata {
  using parent = own.openBelow(parentPath(path));
  const name = baseName(path);
  return metadataOf(parent, name, parent.facts(name) ?? parent.ownFacts());
}

function printOf({
  path,
  operation,
  after,
}: Pick<TreeChange, "path" | "after"> & { operation: string }): string {
  return JSON.stringify([path, operation, ...(after === undefined ? [] : [after.ino, ...after.ctime])]);
}

function isLinked({ kind, nlink }: Facts): boolean {
  return kind !== "directory" && nlink > 1;
}

function linksOf({ changes, anchors }: ChangeSet): SavedChanges["links"] {
  return Iterator.from(changes)
    .flatMap(({ path, after }) => {
      const other = after === undefined || !isLinked(after) ? undefined : anchors.get(after.ino);
      return other === undefined || other === path ? [] : [[path, other] as const];
    })
    .toArray();
}
