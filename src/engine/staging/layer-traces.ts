import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readLayerMarks, writeXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import { readEntry } from "../tree/open-parent.ts";
import { type WalkedEntry, walkFrom } from "../tree/walk.ts";

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
  for (const { path: at, facts, marks } of marksFrom(sandbox, path))
    found({ path: at, marks, ...(isReadOnly(facts) && { mode: facts.mode }) });
}

/** Removes the marks from an entry and everything below it. */
export function freeOfMarks(parent: Folder, name: string): void {
  for (const entry of marksFrom(parent, name))
    writable(POINTS.free, entry, entry.facts.mode, () =>
      writeXattrs(POINTS.free, entry.parent, entry.name, {}, entry.marks),
    );
}

/** Restores the marks. */
export function markAgain(sandbox: Folder, marked: Iterable<MarkedPath>): void {
  for (const { path, marks, mode } of marked)
    readEntry(sandbox, path, (parent, name, facts) =>
      writable(POINTS.mark, { path, parent, name, facts }, mode ?? facts.mode, () =>
        writeXattrs(POINTS.mark, parent, name, marks, readLayerMarks(parent, name)),
      ),
    );
}

/** Without privilege, not even the owner can write attributes of a read-only entry. */
function writable(
  point: Failpoint,
  { parent, name, facts }: WalkedEntry,
  mode: number,
  write: () => void,
): void {
  const isLocked = isReadOnly(facts) && process.geteuid?.() !== 0;
  if (isLocked) parent.setMode(point, name, facts.mode | OWNER_WRITE);
  write();
  if (isLocked || facts.mode !== mode) parent.setMode(point, name, mode);
}

function isReadOnly({ kind, mode }: Facts): boolean {
  return kind !== "symlink" && (mode & OWNER_WRITE) === 0;
}

function* marksFrom(root: Folder, top: string): Generator<WalkedEntry & { readonly marks: Xattrs }> {
  for (const entry of walkFrom(root, top)) {
    const marks = readLayerMarks(entry.parent, entry.name);
    if (Object.keys(marks).length > 0) yield { ...entry, marks };
  }
}
