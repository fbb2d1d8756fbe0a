import { createHash, type Hash } from "node:crypto";
import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Facts, Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import { isAfter } from "../base/barrier.ts";
import type { ChangeSet } from "../changes/change-set.ts";
import { replacedFolders } from "../changes/replaced-folders.ts";

/** What a checkpoint would save, known without reading any content. */
export interface TreeState {
  /**
   * The same only if nothing was changed in between; undefined if somebody changes something right now, so
   * that nobody could tell.
   */
  readonly mark: string | undefined;
  /** The size of the files in it. */
  readonly bytes: number;
}

/**
 * The state of a sandbox, from what differs from its original. `barrier` (barrier.ts) was taken before that
 * was found out: whatever is done later has a change time at or after it, so equal inodes with equal change
 * times are equal files.
 */
export function stateOfChanges(found: ChangeSet, own: Folder, barrier: Time): TreeState {
  const seen = new SeenEntries(barrier);
  for (const { path, operation, after } of found.changes) {
    if (after === undefined) seen.note(path, operation);
    else seen.add(path, after, operation !== "modified" || after.kind !== "directory");
  }
  for (const { path, mtime } of found.folderTimes) seen.note(path, ...mtime.map(String));
  for (const { path, facts } of replacedFolders(found, own)) seen.add(path, facts, false);
  return seen.state();
}

/**
 * The same for a layer of an overlay, which holds nothing but what differs. Without recursion, because
 * folders may be very deep.
 */
export function stateOfLayer(layer: Folder, barrier: Time): TreeState {
  const seen = new SeenEntries(barrier);
  // Each mount marks the root of the layer, so its change time says nothing; what it would tell is asked for
  // instead.
  const { ino, mtime, mode, uid, gid } = layer.ownFacts();
  seen.note(
    ROOT_PATH,
    ...[ino, ...mtime, mode, uid, gid].map(String),
    JSON.stringify(readXattrs(layer, ROOT_PATH)),
  );
  const open: { readonly folder: Folder; readonly path: string }[] = [
    { folder: layer.duplicate(), path: ROOT_PATH },
  ];
  try {
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      using folder = next.folder;
      for (const name of folder.names().sort()) {
        const facts = folder.facts(name);
        if (facts === undefined) continue;
        const path = joinPath(next.path, name);
        seen.add(path, facts);
        const below = facts.kind === "directory" ? folder.openBelowIfThere(name) : undefined;
        if (below !== undefined) open.push({ folder: below, path });
      }
    }
  } finally {
    for (const { folder } of open) folder.close();
  }
  return seen.state();
}

class SeenEntries {
  readonly #hash: Hash = createHash("sha256");
  readonly #barrier: Time;
  #bytes = 0;
  #isSettled = true;

  constructor(barrier: Time) {
    this.#barrier = barrier;
  }

  add(path: string, facts: Facts, counts = true): void {
    const { kind, ino, ctime, mtime, size, mode, uid, gid, nlink } = facts;
    if (isAfter(facts, this.#barrier)) this.#isSettled = false;
    if (counts && kind === "file") this.#bytes += size;
    // The number of names of a folder, and its size, say nothing that its content does not.
    const more = kind === "directory" ? [] : [size, nlink];
    this.note(path, kind, ...[ino, ...ctime, ...mtime, mode, uid, gid, ...more].map(String));
  }

  note(...facts: readonly string[]): void {
    this.#hash.update(JSON.stringify(facts));
  }

  state(): TreeState {
    return { mark: this.#isSettled ? this.#hash.digest("hex") : undefined, bytes: this.#bytes };
  }
}
