import { baseName, joinPath, parentPath, ROOT_PATH } from "../../../core/paths/byte-path.ts";
import { removeTree } from "../../../engine/tree/remove-tree.ts";
import type { EntryKind, Facts } from "../../../system/calls/facts.ts";
import type { Folder } from "../../../system/calls/folder.ts";
import { failpoint } from "../../../system/failpoints.ts";
import { DOT_GIT } from "../layout.ts";

/**
 * The parts of a worktree that no tree object holds: empty folders, fifos and other nodes, and modes that git
 * does not give.
 */
export interface SavedExtras {
  /** The umask at the time of the checkpoint. */
  readonly umask: number;
  /** Folders that are empty, or have another mode than git gives. */
  readonly folders: readonly { readonly path: string; readonly mode: number }[];
  readonly nodes: readonly {
    readonly path: string;
    readonly kind: EntryKind;
    readonly mode: number;
    readonly rdev: string;
  }[];
  /** Files that have another mode than git gives. */
  readonly modes: readonly { readonly path: string; readonly mode: number }[];
}

const POINTS = {
  remove: failpoint("git.restore-remove"),
  create: failpoint("git.restore-create"),
  mode: failpoint("git.restore-mode"),
};

interface Entry {
  readonly parent: Folder;
  readonly name: string;
  readonly path: string;
  readonly facts: Facts;
  /** Only for a folder. */
  readonly isEmpty: boolean;
}

/** `isApart` tells the folders that the checkpoint saves elsewhere, with everything in them. */
export function findExtras(worktree: Folder, isApart: (path: string) => boolean): SavedExtras {
  const umask = process.umask();
  const folders: { path: string; mode: number }[] = [];
  const nodes: { path: string; kind: EntryKind; mode: number; rdev: string }[] = [];
  const modes: { path: string; mode: number }[] = [];
  walk(worktree, isApart, ({ path, facts, isEmpty }) => {
    const { kind, mode, rdev } = facts;
    if (kind === "directory") {
      if (isEmpty || mode !== usualMode(facts, umask)) folders.push({ path, mode });
    } else if (kind === "file") {
      if (mode !== usualMode(facts, umask)) modes.push({ path, mode });
    } else if (kind !== "symlink") nodes.push({ path, kind, mode, rdev });
  });
  return { umask, folders, nodes, modes };
}

/** Restores the extras and removes those that were not there. The files are restored already. */
export function restoreExtras(
  worktree: Folder,
  extras: SavedExtras,
  isApart: (path: string) => boolean,
): void {
  const folders = new Map(extras.folders.map(({ path, mode }) => [path, mode]));
  const modes = new Map(extras.modes.map(({ path, mode }) => [path, mode]));
  const nodes = new Map(extras.nodes.map((node) => [node.path, node]));
  for (const { path } of extras.folders) makeFolders(worktree, path);
  walk(worktree, isApart, ({ parent, name, path, facts, isEmpty }) => {
    const { kind } = facts;
    const isKnownNode = nodes.get(path)?.kind === kind;
    if (kind === "directory" && isEmpty && !folders.has(path)) parent.removeFolder(POINTS.remove, name);
    else if (kind === "directory")
      setMode(parent, name, facts, folders.get(path) ?? usualMode(facts, extras.umask));
    else if (kind === "file") setMode(parent, name, facts, modes.get(path) ?? usualMode(facts, extras.umask));
    else if (kind !== "symlink" && !isKnownNode) removeTree(POINTS.remove, parent, name);
  });
  for (const node of extras.nodes) makeNode(worktree, node);
}

function setMode(parent: Folder, name: string, facts: Facts, mode: number): void {
  if (facts.mode !== mode) parent.setMode(POINTS.mode, name, mode);
}

function makeNode(worktree: Folder, node: SavedExtras["nodes"][number]): void {
  using parent = worktree.openBelow(parentPath(node.path));
  const name = baseName(node.path);
  if (parent.facts(name) === undefined)
    parent.createNode(POINTS.create, name, { ...parent.ownFacts(), ...node });
  setMode(parent, name, parent.facts(name) as Facts, node.mode);
}

function makeFolders(worktree: Folder, path: string): void {
  if (path === ROOT_PATH || worktree.factsBelow(path)?.kind === "directory") return;
  makeFolders(worktree, parentPath(path));
  using parent = worktree.openBelow(parentPath(path));
  removeTree(POINTS.remove, parent, baseName(path));
  parent.createFolder(POINTS.create, baseName(path), 0o700);
}

/** The mode that git gives to a new entry. */
function usualMode({ kind, mode }: Facts, umask: number): number {
  const canRun = kind === "directory" || (mode & 0o100) !== 0;
  return (canRun ? 0o777 : 0o666) & ~umask;
}

/**
 * Visits every entry, the content of a folder before the folder, the root last. No recursion, because a
 * program can make folders deeper than any stack.
 */
function walk(worktree: Folder, isApart: (path: string) => boolean, visit: (entry: Entry) => void): void {
  const isLeftOut = (path: string) => path === DOT_GIT || isApart(path);
  const levels = [{ folder: worktree.duplicate(), path: ROOT_PATH, names: worktree.names() }];
  try {
    for (let level = levels.at(-1); level !== undefined; level = levels.at(-1)) {
      const name = level.names.pop();
      if (name === undefined) {
        levels.pop();
        leave(levels.at(-1), level, visit);
        level.folder.close();
        continue;
      }
      const path = joinPath(level.path, name);
      const facts = isLeftOut(path) ? undefined : level.folder.facts(name);
      if (facts === undefined) continue;
      if (facts.kind !== "directory") visit({ parent: level.folder, name, path, facts, isEmpty: false });
      else {
        const folder = level.folder.openChild(name);
        levels.push({ folder, path, names: folder.names() });
      }
    }
  } finally {
    for (const { folder } of levels) folder.close();
  }
}

interface Level {
  readonly folder: Folder;
  readonly path: string;
}

function leave(above: Level | undefined, { folder, path }: Level, visit: (entry: Entry) => void): void {
  const isEmpty = folder.names().length === 0;
  const facts = folder.ownFacts();
  if (above === undefined) visit({ parent: folder, name: ROOT_PATH, path, facts, isEmpty: false });
  else visit({ parent: above.folder, name: baseName(path), path, facts, isEmpty });
}
