import { UsageError } from "../../core/errors/errors.ts";
import {
  baseName,
  displayPath,
  isAtOrBelow,
  joinPath,
  parentPath,
  ROOT_PATH,
} from "../../core/paths/byte-path.ts";
import type { Entry } from "../../core/resource/entry.ts";
import type { ListedPage } from "../../core/strategy-abilities.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import { type Facts, isoTime } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readPart } from "../../system/data/file-data.ts";
import { failpoint } from "../../system/failpoints.ts";
import { newId } from "../../system/state/new-id.ts";
import { type CopyOptions, copyEntry } from "../tree/copy-tree.ts";
import { moveEntry } from "../tree/move-entry.ts";
import type { NamedEntry } from "../tree/named-entry.ts";
import { removeTree } from "../tree/remove-tree.ts";
import { runAtOnce } from "../work/pace.ts";
import { OWN_NAME, OWN_NAME_PREFIX } from "../workspace/workspace.ts";
import { assertFile, makeFolders, notThere } from "./writing.ts";

const POINTS = {
  remove: failpoint("entry.remove"),
  rename: failpoint("entry.rename"),
  placeCopy: failpoint("entry.place-copy"),
  removeMoved: failpoint("entry.remove-moved"),
};

/** The entries of a sandbox, as programs see them. No link is followed. */
export interface ShownEntries {
  /** Looks at an entry in the folder that holds it; undefined if there is none. */
  at<T>(path: string, look: (folder: Folder, name: string, facts: Facts) => T): T | undefined;
  /** The names in a folder; undefined if there is no such folder. */
  names(path: string): readonly string[] | undefined;
  /** Makes a folder, and those above it. */
  makeFolder(path: string): void;
  /** Removes an entry that is there, with everything in it. */
  remove(path: string): void;
  /** Puts a copy of an entry at a path at which nothing is, and makes missing folders above that. */
  bring(path: string, from: NamedEntry): void;
  /** Gives an entry that is there a path at which nothing is, and makes missing folders above that. */
  rename(from: string, to: string): void;
}

/** A copy of an entry of an upper layer: without what says something about a lower one. */
export const BROUGHT: CopyOptions = {
  data: "share",
  filter: (_path, { kind, rdev }) => !(kind === "device" && rdev === "0:0"),
};

/** The entries of a plain folder: a copy, a worktree, or a mounted sandbox. */
export class FolderEntries implements ShownEntries {
  readonly #tree: Folder;
  readonly #isMounted: boolean;

  /** `mounted`: it is a mounted overlay, which may refuse to rename a folder of its lower layer. */
  constructor(tree: Folder, how: "plain" | "mounted" = "plain") {
    this.#tree = tree;
    this.#isMounted = how === "mounted";
  }

  at<T>(path: string, look: (folder: Folder, name: string, facts: Facts) => T): T | undefined {
    if (path === ROOT_PATH) return look(this.#tree, ROOT_PATH, this.#tree.ownFacts());
    using parent = this.#tree.openBelowIfThere(parentPath(path));
    const facts = parent?.facts(baseName(path));
    return parent === undefined || facts === undefined ? undefined : look(parent, baseName(path), facts);
  }

  names(path: string): readonly string[] | undefined {
    using folder = this.#tree.openBelowIfThere(path);
    return folder?.names();
  }

  makeFolder(path: string): void {
    makeFolders(this.#tree, path);
  }

  remove(path: string): void {
    using parent = this.#tree.openBelow(parentPath(path));
    removeTree(POINTS.remove, parent, baseName(path));
  }

  bring(path: string, from: NamedEntry): void {
    makeFolders(this.#tree, parentPath(path));
    using target = this.#tree.openBelow(parentPath(path));
    runAtOnce(copyEntry(from, { folder: target, name: baseName(path) }, BROUGHT));
  }

  rename(from: string, to: string): void {
    makeFolders(this.#tree, parentPath(to));
    using source = this.#tree.openBelow(parentPath(from));
    using target = this.#tree.openBelow(parentPath(to));
    const isMoved = unlessFailed(this.#isMounted ? ["EXDEV"] : [], () => {
      moveEntry(
        POINTS.rename,
        { folder: source, name: baseName(from) },
        { folder: target, name: baseName(to) },
      );
      return true;
    });
    if (isMoved === undefined)
      this.#moveByCopying({ folder: source, name: baseName(from) }, { folder: target, name: baseName(to) });
  }

  /** The copy is made at the top of the mount, under a name that never counts as work. */
  #moveByCopying(source: NamedEntry, target: NamedEntry): void {
    const copy = { folder: this.#tree, name: `${OWN_NAME_PREFIX}${newId()}-new` };
    try {
      runAtOnce(copyEntry(source, copy, { data: "share" }));
      moveEntry(POINTS.placeCopy, copy, target);
    } finally {
      removeTree(POINTS.removeMoved, copy.folder, copy.name);
    }
    removeTree(POINTS.removeMoved, source.folder, source.name);
  }
}

/** The entry at a path. */
export function entryAt(entries: ShownEntries, path: string, shownPath = path): Entry | undefined {
  return entries.at(path, (folder, name, facts): Entry => {
    const { kind, size, mode, mtime } = facts;
    return {
      path: shownPath,
      kind: kind === "block-device" ? "device" : kind,
      ...{ size, mode, mtime: isoTime(mtime) },
      ...(kind === "symlink" && { target: folder.readLink(name) }),
    };
  });
}

/** Entries of a folder, in the order of their names. */
export function entriesIn(
  entries: ShownEntries,
  path: string,
  { after, limit }: ListedPage,
  isHidden: (path: string) => boolean,
): readonly Entry[] {
  const names = entries.names(path);
  if (names === undefined) throw notAFolder(entries, path);
  const wanted = names
    .filter((name) => !OWN_NAME.test(name) && !isHidden(joinPath(path, name)))
    .filter((name) => after === undefined || name > after)
    .toSorted((a, b) => (a < b ? -1 : 1));
  const found: Entry[] = [];
  for (const name of wanted) {
    if (found.length >= limit) break;
    const entry = entryAt(entries, joinPath(path, name));
    if (entry !== undefined) found.push(entry);
  }
  return found;
}

/** A part of the content of a file. */
export function contentPart(entries: ShownEntries, path: string, offset: number, length: number): Uint8Array {
  const bytes = entries.at(path, (folder, name, facts) => {
    assertFile(path, facts);
    const fd = folder.openFile(name);
    try {
      return readPart(fd, offset, Math.min(length, Math.max(0, facts.size - offset)), folder.label(name));
    } finally {
      closeFile(fd);
    }
  });
  if (bytes === undefined) throw notThere(path);
  return bytes;
}

/** Makes a folder that is not there yet. */
export function makeNewFolder(entries: ShownEntries, path: string): void {
  const kind = entries.at(path, (_folder, _name, facts) => facts.kind);
  if (kind === "directory") return;
  if (kind !== undefined) throw inTheWay(path);
  entries.makeFolder(path);
}

/** Removes an entry with everything in it. */
export function removeEntry(entries: ShownEntries, path: string): void {
  assertNotRoot(path);
  if (entries.at(path, () => true) === undefined) throw notThere(path);
  entries.remove(path);
}

/** Gives an entry another path, where nothing may be yet. */
export function renameEntry(entries: ShownEntries, from: string, to: string): void {
  for (const path of [from, to]) assertNotRoot(path);
  if (entries.at(from, () => true) === undefined) throw notThere(from);
  if (entries.at(to, () => true) !== undefined) throw inTheWay(to);
  if (isAtOrBelow(to, from))
    throw new UsageError(`${displayPath(from)} can't be moved into itself.`, {
      hint: "Choose a path outside of it.",
      code: "BAD_PATH",
    });
  entries.rename(from, to);
}

function assertNotRoot(path: string): void {
  if (path !== ROOT_PATH) return;
  throw new UsageError("The resource itself can't be removed or renamed, only what is in it.", {
    hint: "Give the path of an entry inside.",
    code: "BAD_PATH",
  });
}

function inTheWay(path: string): UsageError {
  return new UsageError(`There is already something at ${displayPath(path)}.`, {
    hint: "Choose another path, or remove it first.",
    code: "PATH_TAKEN",
  });
}

function notAFolder(entries: ShownEntries, path: string): UsageError {
  const kind = entries.at(path, (_folder, _name, facts) => facts.kind);
  if (kind === undefined) return notThere(path);
  return new UsageError(`${displayPath(path)} is a ${kind}, not a folder.`, {
    hint: "Only folders can be listed.",
    code: "BAD_PATH",
  });
}
