import { StateError, UnsupportedError } from "../../core/errors/errors.ts";
import { baseName, bytesFromPath, parentPath, pathFromBytes, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type BaseFacts, baseFacts, entryFacts } from "../../engine/base/base-facts.ts";
import type { OwnTouches } from "../../engine/base/own-touches.ts";
import type { ChangeSet } from "../../engine/changes/change-set.ts";
import { fitting } from "../../engine/changes/rows.ts";
import { type BaseMove, landedMove } from "../../engine/part/base-move.ts";
import { adoptingMove, takeOriginals } from "../../engine/part/original-move.ts";
import { NotedTree } from "../../engine/sandbox/noted-tree.ts";
import type { Browse, MovableBase, SandboxTree, SavedTree } from "../../engine/sandbox/sandbox-tree.ts";
import { FolderEntries } from "../../engine/sandbox/shown-entries.ts";
import {
  type FileContent,
  notThere,
  readFileBelow,
  type WrittenFile,
  writeFileBelow,
} from "../../engine/sandbox/writing.ts";
import { readEntry } from "../../engine/tree/open-parent.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { Steps } from "../../engine/work/pace.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import { createSnapshot, isSubvolume, nestedSubvolumes } from "../../system/btrfs/btrfs.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { BaseOverrides, type EarlierBase, LANDED } from "./base-overrides.ts";
import { BaseSnapshot } from "./base-snapshot.ts";
import { diffWithBase } from "./snapshot-diff.ts";
import { whyNoSnapshot } from "./snapshot-probe.ts";

/**
 * A sandbox that is a snapshot of a subvolume, in a workspace inside that subvolume. Every tree here is a
 * subvolume:
 *
 *   base        a read-only snapshot of the original: the base of the work. Made last: without it the
 *               workspace is not finished
 *   tree        a writable snapshot of `base`; programs work here. Made at the first use; until then the
 *               sandbox shows `base`
 *   tree.new    the next `tree`, or the one before, while they are exchanged
 *   temporary   while a file is written: the path in `tree` of our temporary file beside it. The next write
 *               or landing removes what a crash left
 *   sandbox     sandbox-notes.ts
 *   landed      the parts of the work that have landed, which override `base` (base-overrides.ts)
 *   stale       sandbox-notes.ts: both snapshots are made anew
 * T0 is taken before the snapshot, so that changes of other writers in between are noticed. Both snapshots
 * are of one instant, because one is made from the other. We write nothing after making a snapshot: the first
 * write to a large tree after it takes longer than the snapshot itself.
 */
const POINTS = {
  base: failpoint("snapshot.create-base"),
  hide: failpoint("snapshot.hide-workspaces"),
  times: failpoint("snapshot.root-times"),
  tree: failpoint("snapshot.create-tree"),
  place: failpoint("snapshot.place-tree"),
  note: failpoint("snapshot.note"),
  stale: failpoint("snapshot.mark-stale"),
  fresh: failpoint("snapshot.mark-fresh"),
  removeOld: failpoint("snapshot.remove-old"),
  noteTemporary: failpoint("snapshot.note-temporary"),
  removeTemporary: failpoint("snapshot.remove-temporary"),
};
const BASE = "base";
export const TREE = "tree";
const FRESH = "tree.new";
const TEMPORARY = "temporary";

/** No step here takes long enough to report. */
const NO_STEPS: readonly number[] = [];
const NO_CHANGES: ChangeSet = { changes: [], entries: [], folderTimes: [], anchors: new Map() };

export class SnapshotTree extends NotedTree implements SandboxTree {
  constructor(workspace: Folder, touches: OwnTouches) {
    super(workspace, touches, POINTS);
  }

  override get isFinished(): boolean {
    return this.workspace.facts(BASE) !== undefined;
  }

  /** The path of the tree that programs work on. */
  get path(): string {
    return this.workspace.label(TREE);
  }

  openOwn(): Folder {
    return this.#openSnapshot(this.workspace.facts(TREE) === undefined ? BASE : TREE);
  }

  /** Opens the base snapshot. */
  openBase(): Folder {
    return this.#openSnapshot(BASE);
  }

  /**
   * If a user puts a snapshot of the original in its place, that has our workspace in it, but with empty
   * folders instead of our subvolumes.
   */
  #openSnapshot(name: string): Folder {
    const folder = this.workspace.openChild(name);
    if (isSubvolume(folder)) return folder;
    folder.close();
    throw new StateError(
      `${this.workspace.label(name)} stayed behind in another subvolume that was in this place.`,
      {
        hint: "Put that one back, or cancel the plan and make a new one.",
      },
    );
  }

  *make(original: Folder): Steps {
    const reason = whyNoSnapshot(original);
    if (reason !== undefined) throw new UnsupportedError(`snapshot does not work here: ${reason}.`);
    for (const name of [BASE, LANDED]) removeTree(POINTS.removeOld, this.workspace, name);
    this.notes.write(POINTS.note, {});
    createSnapshot(POINTS.base, original, this.workspace, BASE, { readOnly: true });
    // A user who knows the path of the earlier tree may go on using it.
    if (this.workspace.facts(TREE) !== undefined) this.#replaceByBase();
    yield* NO_STEPS;
  }

  /** Makes the writable tree, unless it exists. */
  makeTree(): void {
    if (this.workspace.facts(TREE) === undefined) this.#replaceByBase();
  }

  #replaceByBase(): void {
    using base = this.openBase();
    this.replaceBy(base);
  }

  /**
   * Replaces the tree by a writable copy of this snapshot, atomically. May be repeated after a crash in the
   * middle.
   */
  replaceBy(snapshot: Folder): void {
    const workspace = this.workspace;
    removeTree(POINTS.removeOld, workspace, FRESH);
    createSnapshot(POINTS.tree, snapshot, workspace, FRESH);
    using fresh = workspace.openChild(FRESH);
    hideWorkspaces(fresh);
    if (workspace.facts(TREE) === undefined) workspace.move(POINTS.place, FRESH, workspace, TREE);
    else {
      workspace.exchange(POINTS.place, FRESH, workspace, TREE);
      removeTree(POINTS.removeOld, workspace, FRESH);
    }
  }

  read(_original: Folder, own: Folder, path: string): Buffer {
    if (isOurs(path)) throw notThere(path);
    return readFileBelow(own, path);
  }

  write(_original: Folder, _own: Folder, path: string, bytes: FileContent): WrittenFile {
    this.makeTree();
    this.removeTemporary();
    using tree = this.openOwn();
    // The workspace is another subvolume, so no file can be exchanged with it.
    const written = writeFileBelow(tree, path, bytes, (temporary) =>
      writeWhole(POINTS.noteTemporary, this.workspace, TEMPORARY, bytesFromPath(temporary)),
    );
    this.removeTemporary();
    return written;
  }

  async browse<T>(_original: Folder, own: Folder, purpose: "look" | "change", action: Browse<T>): Promise<T> {
    if (purpose === "look") return action(new FolderEntries(own));
    this.makeTree();
    this.removeTemporary();
    using tree = this.openOwn();
    return action(new FolderEntries(tree));
  }

  /**
   * Removes our temporary file that an interrupted write left in the tree. The caller must be the only one at
   * work there.
   */
  removeTemporary(): void {
    const path = this.#temporary();
    if (path === undefined) return;
    using parent = this.workspace.openBelowIfThere(`${TREE}/${parentPath(path)}`);
    if (parent?.facts(baseName(path)) !== undefined)
      parent.removeFile(POINTS.removeTemporary, baseName(path));
    this.workspace.removeFile(POINTS.removeTemporary, TEMPORARY);
  }

  *diff(original: Folder, own: Folder): Steps<ChangeSet> {
    if (own.path !== this.path) return NO_CHANGES;
    return yield* this.#diff(original, own, BaseOverrides.in(this.workspace));
  }

  *diffSaved(original: Folder, { entries, notes }: SavedTree): Steps<ChangeSet> {
    return yield* this.#diff(original, entries, BaseOverrides.fromBytes(notes));
  }

  *#diff(original: Folder, tree: Folder, overrides: BaseOverrides): Steps<ChangeSet> {
    using base = this.openBase();
    const landed = { overrides, hasContent: this.hasContentOf(original) };
    const found = yield* diffWithBase({ tree, base, barrier: this.notes.barrier, landed });
    const temporary = this.#temporary();
    const isTheirs = ({ path }: { readonly path: string }) => path !== temporary && !isOurs(path);
    return { ...found, changes: fitting(found.changes, isTheirs), entries: fitting(found.entries, isTheirs) };
  }

  baseLookup(): (path: string) => BaseFacts | undefined {
    const landed = BaseOverrides.in(this.workspace);
    return (path) => {
      const entry = landed.entry(path);
      if (entry !== undefined) return entryFacts(entry);
      if (landed.isGone(path)) return undefined;
      using base = this.openBase();
      return readEntry(base, path, baseFacts);
    };
  }

  /** Whether the base is no longer that of the base snapshot everywhere. */
  get hasMoved(): boolean {
    return !BaseOverrides.in(this.workspace).isEmpty;
  }

  /** Whether the base at a path is a landed entry, and no longer that of the base snapshot. */
  hasLanded(path: string): boolean {
    const landed = BaseOverrides.in(this.workspace);
    return landed.entry(path) !== undefined || landed.isGone(path);
  }

  async base(): Promise<MovableBase<EarlierBase>> {
    return {
      earlier: (part) => this.#withBase((landed, base) => landed.earlier(part, base)),
      land: (part) =>
        this.#withBase((landed, base) => {
          using own = this.openOwn();
          landed.moved(part, landedMove(part, own), base).save(this.workspace);
        }),
      takeBack: (part, earlier) =>
        this.#withBase((landed, base) => landed.takeBack(part, earlier, base).save(this.workspace)),
      adopt: (_original, entries) => this.#moveBase((own) => adoptingMove(entries, own)),
      takeOriginals: (original, paths) => this.#moveBase((own) => takeOriginals(paths, original, own)),
    };
  }

  #moveBase(move: (own: Folder) => BaseMove): void {
    using own = this.openOwn();
    BaseOverrides.in(this.workspace).movedBy(move(own)).save(this.workspace);
  }

  #withBase<T>(action: (landed: BaseOverrides, base: BaseSnapshot) => T): T {
    using base = this.openBase();
    return action(BaseOverrides.in(this.workspace), new BaseSnapshot(base, this.notes.barrier));
  }

  /** The snapshot also holds workspaces of other plans, deep in the original. */
  isMark = (name: string): boolean => OWN_NAME.test(name);

  /**
   * Refuses a subvolume that a program made inside: neither a checkpoint nor a landing could hold its
   * contents.
   */
  assertOneSubvolume(): void {
    using own = this.openOwn();
    const [nested] = nestedSubvolumes(own);
    if (nested === undefined) return;
    throw new UnsupportedError(`${own.label(nested)} is a subvolume that was made inside the sandbox.`, {
      hint: "Copy it into a plain folder, delete it with 'btrfs subvolume delete', and try again.",
    });
  }

  #temporary(): string | undefined {
    const bytes = readWhole(this.workspace, TEMPORARY);
    return bytes === undefined ? undefined : pathFromBytes(bytes);
  }
}

/** Removes the workspaces of plans, which do not belong to the original. */
function hideWorkspaces(tree: Folder): void {
  const hidden = tree.names().filter((name) => OWN_NAME.test(name));
  if (hidden.length === 0) return;
  const { mtime, atime } = tree.ownFacts();
  for (const name of hidden) removeTree(POINTS.hide, tree, name);
  tree.setTimes(POINTS.times, ROOT_PATH, { mtime, atime });
}

function isOurs(path: string): boolean {
  return path.includes(".drydock-") && path.split("/").some((name) => OWN_NAME.test(name));
}
