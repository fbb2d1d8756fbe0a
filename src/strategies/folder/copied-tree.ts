import { StateError } from "../../core/errors/errors.ts";
import { baseName, foldersAbove, nearest, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { takeBarrier } from "../../engine/base/barrier.ts";
import type { BaseFacts } from "../../engine/base/base-facts.ts";
import { Baseline } from "../../engine/base/baseline.ts";
import { BaselineBuilder } from "../../engine/base/baseline-builder.ts";
import type { OwnTouches } from "../../engine/base/own-touches.ts";
import type { ChangeSet } from "../../engine/changes/change-set.ts";
import { diffTree } from "../../engine/changes/tree-diff.ts";
import { type SavedChanges, savedIn } from "../../engine/checkpoint/saved-changes.ts";
import { diffSavedChanges } from "../../engine/checkpoint/saved-diff.ts";
import { type BaseMove, landedMove, returnedMove } from "../../engine/part/base-move.ts";
import { BaseMoves } from "../../engine/part/base-moves.ts";
import { adoptingMove, moveTo, takeOriginals } from "../../engine/part/original-move.ts";
import { baseEntriesBelow, earlierInBaseline, rebased } from "../../engine/part/rebased-baseline.ts";
import { NotedTree } from "../../engine/sandbox/noted-tree.ts";
import type { Browse, MovableBase, SandboxTree, SavedTree } from "../../engine/sandbox/sandbox-tree.ts";
import { FolderEntries } from "../../engine/sandbox/shown-entries.ts";
import {
  type FileContent,
  readFileBelow,
  type WrittenFile,
  writeFileBelow,
} from "../../engine/sandbox/writing.ts";
import { type CopiedEntry, type CopyOptions, copyEntry, copyTree } from "../../engine/tree/copy-tree.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { Steps } from "../../engine/work/pace.ts";
import { LastParsed } from "../../engine/workspace/last-parsed.ts";
import { isExcluded, type Scope } from "../../engine/workspace/scope.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";

/**
 * A copy of an original in a workspace, with the records that show later what changed on either side.
 *
 *   tree/      the copy; programs work here
 *   baseline   the facts of every entry (baseline.ts)
 *   sandbox    sandbox-notes.ts; written last: a workspace without it is not finished
 *   stale      sandbox-notes.ts
 * T0 is taken before the copying, so that changes of other writers during the copying are noticed.
 */
const POINTS = {
  tree: failpoint("copy.create-tree"),
  baseline: failpoint("copy.baseline"),
  finish: failpoint("copy.finish"),
  stale: failpoint("copy.mark-stale"),
  fresh: failpoint("copy.mark-fresh"),
  removeOld: failpoint("copy.remove-old"),
};
const TREE = "tree";
const BASELINE = "baseline";

/** Only for lookups: the baseline is shared and must not be changed. */
const lastBaseline = new LastParsed((bytes, label) => Baseline.fromBytes(bytes, label));

export type CopyMode = CopyOptions["data"];

export class CopiedTree extends NotedTree implements SandboxTree {
  readonly #scope: Scope;
  readonly #data: CopyMode;

  constructor(workspace: Folder, scope: Scope, data: CopyMode, touches: OwnTouches) {
    super(workspace, touches, POINTS);
    this.#scope = scope;
    this.#data = data;
  }

  /** Whether the resource is a single file. */
  get isSingleFile(): boolean {
    return this.#scope.only !== undefined;
  }

  /** The path of the tree that programs work on. */
  get path(): string {
    return treePath(this.workspace.path, this.#scope);
  }

  openOwn(): Folder {
    return this.workspace.openChild(TREE);
  }

  *make(original: Folder): Steps {
    this.notes.remove(POINTS.removeOld);
    for (const name of [TREE, BASELINE]) removeTree(POINTS.removeOld, this.workspace, name);
    const barrier = takeBarrier(this.workspace);
    using tree = this.workspace.ensureFolder(POINTS.tree, TREE);
    const builder = new BaselineBuilder();
    const options: CopyOptions = {
      data: this.#data,
      filter: (path) => !this.#isOurs(path) && !isExcluded(this.#scope, path),
      onCopied: (entry) => builder.add(entry),
    };
    if (this.#scope.only === undefined) yield* copyTree(original, tree, options);
    else yield* copySingleFile(original, tree, this.#scope.only, options);
    this.saveBaseline(builder.finish((path) => tree.factsBelow(path)));
    this.notes.write(POINTS.finish, {}, barrier);
  }

  read(_original: Folder, own: Folder, path: string): Buffer {
    return readFileBelow(own, path);
  }

  write(_original: Folder, own: Folder, path: string, bytes: FileContent): WrittenFile {
    return writeFileBelow(own, path, bytes, this.workspace);
  }

  async browse<T>(
    _original: Folder,
    own: Folder,
    _purpose: "look" | "change",
    action: Browse<T>,
  ): Promise<T> {
    return action(new FolderEntries(own));
  }

  *diff(original: Folder, own: Folder): Steps<ChangeSet> {
    const { only } = this.#scope;
    return yield* diffTree(own, this.#lookupBaseline(), {
      ...(only !== undefined && { only }),
      hasBaseContent: this.hasContentOf(original),
    });
  }

  *diffSaved(original: Folder, { entries, notes }: SavedTree): Steps<ChangeSet> {
    const saved = savedIn(notes);
    const { paths, later } = new BaseMoves(this.workspace).at(saved.lastMove ?? 0);
    const now = this.#lookupBaseline();
    const baseline = paths.length === 0 ? now : rebased(now, moveTo(paths, later));
    return yield* diffSavedChanges(saved, entries, baseline, this.hasContentOf(original));
  }

  loadBaseline(): Baseline {
    const bytes = readWhole(this.workspace, BASELINE);
    if (bytes === undefined) throw unfinished(this.workspace.path);
    return Baseline.fromBytes(bytes, this.workspace.label(BASELINE));
  }

  baseLookup(): (path: string) => BaseFacts | undefined {
    const baseline = this.#lookupBaseline();
    return (path) => {
      if (path === ROOT_PATH && this.#scope.only !== undefined) return undefined;
      const index = baseline.find(path);
      return index === undefined ? undefined : baseline.facts(index);
    };
  }

  #lookupBaseline(): Baseline {
    return lastBaseline.of(this.workspace, BASELINE) ?? this.loadBaseline();
  }

  async base(): Promise<MovableBase<readonly CopiedEntry[]>> {
    const rebase = (move: BaseMove) => this.saveBaseline(rebased(this.loadBaseline(), move), "flushed");
    return {
      earlier: (part) => earlierInBaseline(part, this.loadBaseline()),
      land: (part) => {
        using own = this.openOwn();
        rebase(landedMove(part, own));
      },
      takeBack: (part, earlier) => rebase(returnedMove(part, earlier)),
      adopt: (_original, entries) => {
        using own = this.openOwn();
        if (entries.length > 0) this.#moveBase(adoptingMove(entries, own));
      },
      takeOriginals: (original, paths) => {
        using own = this.openOwn();
        if (paths.length > 0) this.#moveBase(takeOriginals(paths, original, own));
      },
    };
  }

  /**
   * Brings the base of paths that a checkpoint has saved back to the time of the checkpoint, with the folders
   * above them that have none now. Other paths come from the original, and so does their base. Returns
   * whether it moved.
   */
  returnBase({ entries, lastMove = 0 }: SavedChanges): boolean {
    const moved = new BaseMoves(this.workspace).at(lastMove);
    if (moved.paths.length === 0) return false;
    const saved = new Set(entries.map(({ path }) => path));
    const above = new Set([...saved].flatMap(foldersAbove));
    const baseline = this.loadBaseline();
    const isMissing = (path: string) => above.has(path) && baseline.find(path) === undefined;
    const paths = moved.paths.filter((path) => nearest(saved, path) !== undefined || isMissing(path));
    const later = moved.later.filter(({ path }) => paths.includes(path));
    if (paths.length > 0) this.#moveBase(moveTo(paths, later));
    return paths.length > 0;
  }

  #moveBase(move: BaseMove): void {
    const baseline = this.loadBaseline();
    const earlier = [...move.gone].flatMap((path) => [...baseEntriesBelow(baseline, path)]);
    const known = [...earlier, ...move.come].map(({ path }) => path);
    const paths = [...new Set([...move.gone, ...known])];
    new BaseMoves(this.workspace).add({ paths, earlier, later: move.come });
    this.saveBaseline(rebased(baseline, move), "flushed");
  }

  /** `flushed` where the existing baseline is the only record of which entries are work. */
  saveBaseline(baseline: Baseline, how: "buffered" | "flushed" = "buffered"): void {
    writeWhole(POINTS.baseline, this.workspace, BASELINE, baseline.toBytes(), how);
  }

  /** Workspaces, also those of other plans, do not belong to the original that holds them. */
  #isOurs(path: string): boolean {
    return OWN_NAME.test(baseName(path));
  }
}

function* copySingleFile(original: Folder, tree: Folder, name: string, options: CopyOptions): Steps {
  yield* copyEntry({ folder: original, name }, { folder: tree, name }, options);
  const [facts, copy] = [original.ownFacts(), tree.ownFacts()];
  options.onCopied?.({ path: ROOT_PATH, original: facts, copy, xattrs: {} });
}

/** The path at which programs find the present or future copy in this workspace. */
export function treePath(workspace: string, scope: Scope): string {
  return scope.only === undefined ? `${workspace}/${TREE}` : `${workspace}/${TREE}/${scope.only}`;
}

function unfinished(path: string): StateError {
  return new StateError(`The sandbox in ${path} is incomplete.`, {
    hint: "Cancel its plan and make a new one.",
  });
}
