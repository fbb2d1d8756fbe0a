import { baseName, joinPath, parentPath } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readLayerMarks, writeXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";

/**
 * The marks that an overlay puts on the entries of its upper layer (attributes such as
 * `trusted.overlay.origin`). None may reach the original, but the layer needs them. So we remove them from
 * entries that leave the layer, and restore them if an entry goes back.
 */
const POINTS = { free: failpoint("stage.free-of-marks"), mark: failpoint("stage.mark-again") };

export interface MarkedPath {
  /** From the root of the sandbox. */
  readonly path: string;
  readonly marks: Xattrs;
  /**
   * For an entry that its owner may not write to: its mode. Without privilege, we make it writable while its
   * marks change; a crash may leave it so.
   */
  readonly mode?: number;
}

const OWNER_WRITE = 0o200;

/** Reports all marks on an entry and below it. */
export function findMarks(sandbox: Folder, path: string, found: (marked: MarkedPath) => void): void {
  using parent = sandbox.openBelow(parentPath(path));
  visit(parent, baseName(path), path, (_, __, { path: at, marks, facts }) =>
    found({ path: at, marks, ...(isReadOnly(facts) && { mode: facts.mode }) }),
  );
}

/** Removes the marks from an entry and everything below it. */
export function freeOfMarks(parent: Folder, name: string): void {
  visit(parent, name, name, (folder, at, { marks, facts }) =>
    writable(POINTS.free, { folder, name: at, facts }, facts.mode, () =>
      writeXattrs(POINTS.free, folder, at, {}, marks),
    ),
  );
}

/** Restores the marks. */
export function markAgain(sandbox: Folder, marked: Iterable<MarkedPath>): void {
  for (const { path, marks, mode } of marked) {
    using parent = sandbox.openBelowIfThere(parentPath(path));
    const name = baseName(path);
    const facts = parent?.facts(name);
    if (parent === undefined || facts === undefined) continue;
    writable(POINTS.mark, { folder: parent, name, facts }, mode ?? facts.mode, () =>
      writeXattrs(POINTS.mark, parent, name, marks, readLayerMarks(parent, name)),
    );
  }
}

/** Without privilege, not even the owner can write attributes of a read-only entry. */
function writable(
  point: Failpoint,
  { folder, name, facts }: FoundEntry,
  mode: number,
  write: () => void,
): void {
  const isLocked = isReadOnly(facts) && process.geteuid?.() !== 0;
  if (isLocked) folder.setMode(point, name, facts.mode | OWNER_WRITE);
  write();
  if (isLocked || facts.mode !== mode) folder.setMode(point, name, mode);
}

function isReadOnly({ kind, mode }: Facts): boolean {
  return kind !== "symlink" && (mode & OWNER_WRITE) === 0;
}

interface FoundEntry {
  readonly folder: Folder;
  readonly name: string;
  readonly facts: Facts;
}

interface MarkedEntry {
  readonly path: string;
  readonly marks: Xattrs;
  readonly facts: Facts;
}

function visit(
  parent: Folder,
  name: string,
  path: string,
  found: (parent: Folder, name: string, entry: MarkedEntry) => void,
): void {
  const facts = parent.facts(name);
  if (facts === undefined) return;
  const marks = readLayerMarks(parent, name);
  if (Object.keys(marks).length > 0) found(parent, name, { path, marks, facts });
  if (facts.kind !== "directory") return;
  using folder = parent.openChild(name);
  for (const child of folder.names()) visit(folder, child, joinPath(path, child), found);
}
