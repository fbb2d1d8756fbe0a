import { createHash, type Hash } from "node:crypto";
import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Facts, Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import { isAfter } from "../base/barrier.ts";
import type { ChangeSet } from "../changes/change-set.ts";
import { replacedFolders } from "../changes/replaced-folders.ts";
import { walkBelow } from "../tree/walk.ts";

/** The state that a checkpoint would save, found without reading content. */
export interface TreeState {
  /** Equal marks mean that nothing changed in between. Undefined while another process changes the tree. */
  readonly mark: string | undefined;
  /** The total size of its files. */
  readonly bytes: number;
}

/**
 * The state of a sandbox, from its differences from the original. `barrier` (barrier.ts) was taken before the
 * diff: every later change has a change time at or after it, so equal inodes with equal change times are
 * equal files.
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

/** The state of an overlay's layer, which holds only differences. */
export function stateOfLayer(layer: Folder, barrier: Time): TreeState {
  const seen = new SeenEntries(barrier);
  // Each mount marks the root of the layer and moves its change time, so we compare the root's other facts
  // instead.
  const { ino, mtime, mode, uid, gid } = layer.ownFacts();
  seen.note(
    ROOT_PATH,
    ...[ino, ...mtime, mode, uid, gid].map(String),
    JSON.stringify(readXattrs(layer, ROOT_PATH)),
  );
  for (const { path, facts } of walkBelow(layer)) seen.add(path, facts);
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
    // A folder's link count and size say nothing that its contents do not.
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
