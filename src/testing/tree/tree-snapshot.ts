import type { Loss } from "../../core/capabilities.ts";
import { comparePaths, displayPath, joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import { type Facts, isoTime } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import { type DataRange, dataRanges } from "../../system/data/data-ranges.ts";
import { digestOfFile } from "../../system/data/file-content.ts";

/** Every visible attribute of one entry, as text to compare and to show. */
export type EntrySnapshot = { readonly [attribute: string]: string };

/** Every entry of a folder with its visible attributes, by path. */
export type TreeSnapshot = ReadonlyMap<string, EntrySnapshot>;

/**
 * Takes a snapshot of a folder: the kind, content, holes, mode, owner, time, extended attributes, target and
 * other names of every entry.
 */
export function snapshotTree(path: string, isLeftOut: (name: string) => boolean = () => false): TreeSnapshot {
  using root = Folder.open(path);
  const entries = new Map<string, { facts: Facts; snapshot: EntrySnapshot }>();
  const visit = (folder: Folder, name: string, at: string): void => {
    const facts = name === ROOT_PATH ? folder.ownFacts() : folder.facts(name);
    if (facts === undefined) throw new Error(`${folder.label(name)} vanished while it was looked at`);
    entries.set(at, { facts, snapshot: snapshotEntry(folder, name, facts) });
    if (facts.kind !== "directory") return;
    using inside = name === ROOT_PATH ? folder.duplicate() : folder.openChild(name);
    for (const child of inside.names()) if (!isLeftOut(child)) visit(inside, child, joinPath(at, child));
  };
  visit(root, ROOT_PATH, ROOT_PATH);
  return withLinkGroups(entries);
}

/** For each declared loss, the entries whose presence does not count. */
const NOT_KEPT: { readonly [loss in Loss]?: (kind: string | undefined) => boolean } = {
  folders: (kind) => kind === "directory",
  "other-kinds": (kind) => kind !== "file" && kind !== "symlink" && kind !== "directory",
};

/** For each declared loss, the attributes that do not count. */
const LOST: {
  readonly [loss in Loss]?: (attribute: string, kind: string | undefined, differing: Values) => boolean;
} = {
  "linked-files": (attribute) => attribute === "same file",
  holes: (attribute) => attribute === "holes",
  "folder-times": (attribute, kind) => attribute === "mtime" && kind === "directory",
  "link-attributes": (attribute, kind) =>
    (attribute === "mtime" || attribute === "xattrs") && kind === "symlink",
  folders: (_, kind) => kind === "directory",
  times: (attribute) => attribute === "mtime",
  owners: (attribute) => attribute === "owner",
  modes: (attribute, _, values) =>
    attribute === "mode" && values.every((mode) => canRun(mode) === canRun(values[0])),
  attributes: (attribute) => attribute === "xattrs",
};

type Values = readonly (string | undefined)[];

function canRun(mode: string | undefined): boolean {
  return (Number.parseInt(mode ?? "0", 8) & 0o100) !== 0;
}

/** The differences between two snapshots, a line for each. Declared losses do not count. */
export function compareSnapshots(
  actual: TreeSnapshot,
  expected: TreeSnapshot,
  losses: readonly Loss[] = [],
): string[] {
  const paths = [...new Set([...actual.keys(), ...expected.keys()])].sort(comparePaths);
  return paths.flatMap((path) => {
    const isKept = (entry: EntrySnapshot | undefined) =>
      !losses.some((loss) => NOT_KEPT[loss]?.(entry?.["kind"]));
    const [is, should] = [actual.get(path), expected.get(path)].map((entry) =>
      isKept(entry) ? entry : undefined,
    );
    const shown = displayPath(path);
    if (is === undefined && should === undefined) return [];
    if (is === undefined) return [`${shown} is missing (${should?.["kind"]})`];
    if (should === undefined) return [`${shown} should not be there (${is["kind"]})`];
    return Object.keys({ ...is, ...should })
      .filter((attribute) => is[attribute] !== should[attribute])
      .filter(
        (attribute) =>
          !losses.some((loss) => LOST[loss]?.(attribute, should["kind"], [is[attribute], should[attribute]])),
      )
      .map((attribute) => `${shown}: ${attribute} is ${is[attribute]}, should be ${should[attribute]}`);
  });
}

/**
 * The inodes of the entries in a folder, without folders, which can't be shared, and without our workspaces.
 */
export function inodesOf(path: string): ReadonlyMap<string, string> {
  using root = Folder.open(path);
  const inodes = new Map<string, string>();
  const visit = (folder: Folder, at: string): void => {
    for (const name of folder.names().filter((found) => !OWN_NAME.test(found))) {
      const facts = folder.facts(name);
      if (facts?.kind === "directory") {
        using inside = folder.openChild(name);
        visit(inside, joinPath(at, name));
      } else if (facts !== undefined) inodes.set(joinPath(at, name), `${facts.device} ${facts.ino}`);
    }
  };
  visit(root, ROOT_PATH);
  return inodes;
}

function snapshotEntry(folder: Folder, name: string, facts: Facts): EntrySnapshot {
  return {
    kind: facts.kind,
    ...(facts.kind !== "symlink" && { mode: facts.mode.toString(8) }),
    owner: `${facts.uid}:${facts.gid}`,
    mtime: isoTime(facts.mtime),
    xattrs: JSON.stringify(readXattrs(folder, name)),
    ...(facts.kind === "file" && fileContent(folder, name, facts)),
    ...(facts.kind === "symlink" && { target: folder.readLink(name) }),
    ...(facts.kind.endsWith("device") && { device: facts.rdev }),
  };
}

function fileContent(folder: Folder, name: string, facts: Facts): EntrySnapshot {
  const fd = folder.openFile(name);
  try {
    const holes = largeHoles([...dataRanges(fd, facts.size)], facts.size);
    const content = digestOfFile(fd, folder.label(name));
    return { size: String(facts.size), content, holes: JSON.stringify(holes) };
  } finally {
    closeFile(fd);
  }
}

/**
 * Holes shorter than this do not count: file systems differ in their block size, and some fill a short hole;
 * none fills a long one.
 */
const HOLE_STEP = 1024 * 1024;

function largeHoles(data: readonly DataRange[], size: number): (readonly number[])[] {
  const starts = [0, ...data.map(({ end }) => end)];
  const ends = [...data.map(({ start }) => start), size];
  return starts
    .map((start, at) => [
      Math.ceil(start / HOLE_STEP) * HOLE_STEP,
      Math.floor((ends[at] ?? size) / HOLE_STEP) * HOLE_STEP,
    ])
    .filter(([start = 0, end = 0]) => start < end);
}

/**
 * Replaces inode numbers, which differ between equal trees, by the names that share one. The link count does
 * not tell: an undo record can hold another name of the file.
 */
function withLinkGroups(
  entries: ReadonlyMap<string, { facts: Facts; snapshot: EntrySnapshot }>,
): TreeSnapshot {
  const groups = Map.groupBy(entries, ([, { facts }]) => facts.ino);
  return new Map(
    [...entries].map(([path, { facts, snapshot }]) => {
      if (facts.kind === "directory") return [path, snapshot];
      const names = (groups.get(facts.ino) ?? []).map(([other]) => displayPath(other)).sort();
      return names.length > 1 ? [path, { ...snapshot, "same file": names.join(", ") }] : [path, snapshot];
    }),
  );
}
