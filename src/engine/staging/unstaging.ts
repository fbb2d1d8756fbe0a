import { baseName, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { sameIdentity } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { failpoint } from "../../system/failpoints.ts";
import { LANDED } from "../manifest/landed-record.ts";
import { SLOTS, Slots, slotName } from "../manifest/slots.ts";
import { MANIFEST } from "../manifest/stored-manifest.ts";
import { copyEntry } from "../tree/copy-tree.ts";
import { finishExchange } from "../tree/exchange-entries.ts";
import { moveEntry } from "../tree/move-entry.ts";
import { removeTree } from "../tree/remove-tree.ts";
import { runAtOnce } from "../work/pace.ts";
import { markAgain } from "./layer-traces.ts";
import { type FolderTimes, type MovedEntry, readStagingRecord } from "./staging-record.ts";

const DISCARD = failpoint("landings.discard");
const POINTS = {
  putBack: failpoint("stage.put-back"),
  mode: failpoint("stage.folder-mode"),
  folderTimes: failpoint("stage.folder-times"),
  discard: failpoint("stage.discard"),
};

/**
 * Puts the staged entries back into the sandbox, whether the staging finished or not, and removes the rest of
 * the landing except the kept slots. A kept slot holds what another writer made of an entry after it had
 * landed; the sandbox gets a copy, because otherwise the plan would delete the entry.
 */
export function unstage(sandbox: Folder, landing: Folder, kept: ReadonlySet<number>): void {
  const record = readStagingRecord(landing);
  using slots = Slots.openIfThere(landing);
  if (slots !== undefined) {
    for (const moved of record?.moved() ?? unrecorded(slots)) {
      if (kept.has(moved.slot)) copyBack(sandbox, slots, moved);
      else returnMoved(sandbox, slots, moved);
    }
    markAgain(sandbox, record?.marked() ?? []);
    restoreFolderTimes(sandbox, record?.folders() ?? []);
  }
  if (kept.size > 0) return;
  // With a manifest but without the rest, this would look like a landing that had begun.
  removeTree(POINTS.discard, landing, MANIFEST);
  for (const name of landing.names()) removeTree(POINTS.discard, landing, name);
}

/** A power cut can lose the record but not the entries: these go back under names that say so. */
function unrecorded(slots: Slots): MovedEntry[] {
  return slots.numbers().map((slot) => ({ slot, path: `taken-back-${slot}` }));
}

function copyBack(sandbox: Folder, slots: Slots, { slot, path }: MovedEntry): void {
  using parent = sandbox.openBelowIfThere(parentPath(path));
  if (parent === undefined || parent.facts(baseName(path)) !== undefined) return;
  const from = { folder: slots.in(slot), name: slotName(slot) };
  runAtOnce(copyEntry(from, { folder: parent, name: baseName(path) }, { data: "share" }, path));
}

function returnMoved(sandbox: Folder, slots: Slots, { slot, path, is, mode }: MovedEntry): void {
  const there = slots.facts(slot);
  // A copy that replaced an open file is not the entry that was taken out.
  if (there !== undefined && is !== undefined && !sameIdentity(there, is)) return;
  // An empty slot means that the entry was not taken out, or is back already; its mode may be wrong in either
  // case.
  putBack(sandbox, slots, slot, path);
  if (mode !== undefined) restoreMode(sandbox, path, mode);
}

/**
 * If a process has made a new entry at the old path meanwhile, both are kept. If the folder is gone, the
 * entry goes to the top.
 */
export function putBack(sandbox: Folder, slots: Slots, slot: number, path: string): void {
  if (slots.facts(slot) === undefined) return;
  using parent = sandbox.openBelowIfThere(parentPath(path));
  const name = baseName(path);
  const from = { folder: slots.in(slot), name: slotName(slot) };
  // A move by link that was cut off leaves the entry in both places.
  if (parent !== undefined) finishExchange(from, { folder: parent, name });
  if (slots.facts(slot) === undefined) return;
  const isFree = parent !== undefined && parent.facts(name) === undefined;
  const free = isFree ? name : `${name}.taken-back-${process.hrtime.bigint()}`;
  moveEntry(POINTS.putBack, from, { folder: parent ?? sandbox, name: free });
}

/** A crash between opening up a folder and closing it, before or after its move, leaves a wrong mode. */
function restoreMode(sandbox: Folder, path: string, mode: number): void {
  using parent = sandbox.openBelowIfThere(parentPath(path));
  const now = parent?.facts(baseName(path));
  if (now?.kind === "directory" && now.mode !== mode) parent?.setMode(POINTS.mode, baseName(path), mode);
}

/** Restores the times of folders, which are part of the work, after entries moved out of them and back. */
export function restoreFolderTimes(sandbox: Folder, folders: Iterable<FolderTimes>): void {
  for (const { path, mtime, atime } of folders) {
    using folder = sandbox.openBelowIfThere(path);
    folder?.setTimes(POINTS.folderTimes, ROOT_PATH, { mtime, atime });
  }
}

/**
 * Removes everything except the kept slots and the record of them. The manifest goes first, because nothing
 * can be run without it.
 */
export function removeAllBut(landing: Folder, kept: ReadonlySet<number>): void {
  using slots = Slots.open(landing);
  slots.removeAllBut(DISCARD, kept);
  removeTree(DISCARD, landing, MANIFEST);
  for (const name of landing.names().filter((other) => other !== LANDED && other !== SLOTS))
    removeTree(DISCARD, landing, name);
}
