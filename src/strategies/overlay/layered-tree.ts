import { BusyError } from "../../core/errors/errors.ts";
import { baseName, displayPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { BaseFacts } from "../../engine/base/base-facts.ts";
import type { OwnTouches } from "../../engine/base/own-touches.ts";
import type { ChangeSet } from "../../engine/changes/change-set.ts";
import type { SavedLayer } from "../../engine/checkpoint/tree-checkpoints.ts";
import type { LandedPart } from "../../engine/landing/landed-part.ts";
import { NotedTree } from "../../engine/sandbox/noted-tree.ts";
import type { Browse, MovableBase, SandboxTree, SavedTree } from "../../engine/sandbox/sandbox-tree.ts";
import {
  type FileContent,
  notThere,
  readFileBelow,
  type WrittenFile,
  writeThroughMount,
} from "../../engine/sandbox/writing.ts";
import { giveMetadata } from "../../engine/tree/metadata.ts";
import { readEntry } from "../../engine/tree/open-parent.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { runAtOnce, type Steps } from "../../engine/work/pace.ts";
import { isExcluded, type Scope } from "../../engine/workspace/scope.ts";
import { OWN_NAME } from "../../engine/workspace/workspace.ts";
import { type Facts, sameIdentity } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs } from "../../system/calls/xattrs.ts";
import { writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { BaseRecord, type Layers, lowerFacts } from "./base-record.ts";
import { noteCovered } from "./covered-entries.ts";
import { keepingFolderTimes } from "./folder-times.ts";
import { noteStaged } from "./landed/landed-entries.ts";
import { SettledLayer } from "./landed/settled-layer.ts";
import { settleCopy, settleLayer } from "./landed/settling.ts";
import type { EarlierLayer } from "./landed-layer.ts";
import { diffLayers, type LayerDiffOptions } from "./layer-diff.ts";
import { LayerMarks } from "./layer-marks.ts";
import { LayerWriter } from "./layer-writing.ts";
import { LayeredFolder } from "./layered-folder.ts";
import type { OverlayWay } from "./layout.ts";
import { MERGED, UPPER, WORK } from "./layout.ts";
import { type LinkedName, linkedNames, otherNames } from "./linked-names.ts";
import { completeMovedFolders, hasMovedFolders } from "./moved-folders.ts";

/**
 * A sandbox that is an upper layer over the original: it holds only the differences.
 *
 *   upper/    the sandbox's own entries, with the marks of an overlay (layer-marks.ts)
 *   work/     the overlay's own folder; only while it is mounted
 *   merged/   the mount point in the host's view; only while it is mounted
 *   base      the base facts of the paths that the upper layer covers (base-record.ts)
 *   times     times of folders, while they have to be kept (folder-times.ts)
 *   entered   exists from before the first program gets in until `base` is complete after the last one
 *   sandbox   sandbox-notes.ts, with the way it is mounted; written last: without it the workspace is not
 *             finished
 *   stale     sandbox-notes.ts
 */
const POINTS = {
  upper: failpoint("overlay.create-upper"),
  root: failpoint("overlay.root-metadata"),
  hide: failpoint("overlay.hide-workspace"),
  enter: failpoint("overlay.mark-entered"),
  leave: failpoint("overlay.mark-left"),
  forget: failpoint("overlay.forget-lower"),
  finish: failpoint("overlay.finish"),
  stale: failpoint("overlay.mark-stale"),
  fresh: failpoint("overlay.mark-fresh"),
  removeOld: failpoint("overlay.remove-old"),
};
/** No step here takes long enough to report. */
const NO_STEPS: readonly number[] = [];
const ENTERED = "entered";

export class LayeredTree extends NotedTree<{ readonly way: OverlayWay }> implements SandboxTree {
  readonly #scope: Scope;
  readonly #chooseWay: () => OverlayWay;
  readonly #openMount: (tree: LayeredTree) => Folder | undefined;
  readonly #begin: ((layers: Layers) => void) | undefined;

  constructor(
    workspace: Folder,
    scope: Scope,
    touches: OwnTouches,
    outside: {
      /** The way to mount a new sandbox. */
      readonly chooseWay: () => OverlayWay;
      /** The sandbox as programs see it, if it is mounted. */
      readonly openMount: (tree: LayeredTree) => Folder | undefined;
      /** Puts the first entries into a new upper layer. */
      readonly begin?: (layers: Layers) => void;
    },
  ) {
    super(workspace, touches, POINTS);
    this.#scope = scope;
    this.#chooseWay = outside.chooseWay;
    this.#openMount = outside.openMount;
    this.#begin = outside.begin;
  }

  get way(): OverlayWay {
    return this.notes.read().way;
  }

  /** Whether programs are inside, or were inside and `base` is not complete yet. */
  get isEntered(): boolean {
    return this.workspace.facts(ENTERED) !== undefined;
  }

  /** The path of the upper layer. */
  get upperPath(): string {
    return this.workspace.label(UPPER);
  }

  openOwn(): Folder {
    return this.workspace.openChild(UPPER);
  }

  *make(original: Folder): Steps {
    // A sandbox that is made anew keeps its way to mount, because its marks depend on it.
    const way = this.isFinished ? this.way : this.#chooseWay();
    // Only a stale sandbox is made anew, and it stays stale until it is complete, so its notes can stay.
    for (const name of [ENTERED, UPPER, WORK]) removeTree(POINTS.removeOld, this.workspace, name);
    using upper = this.workspace.ensureFolder(POINTS.upper, UPPER);
    const facts = original.ownFacts();
    const wanted = { facts, xattrs: readXattrs(original, ROOT_PATH) };
    giveMetadata(POINTS.root, { folder: upper, name: ROOT_PATH }, wanted, upper.ownFacts());
    this.#hideWorkspaces(original, upper, facts);
    const record = new BaseRecord();
    if (this.#scope.only === undefined) record.note(ROOT_PATH, { folder: original, name: ROOT_PATH }, facts);
    record.save(this.workspace);
    const { workspace } = this;
    this.#begin?.({ upper, lower: original, workspace, record, marks: new LayerMarks(way) });
    this.notes.write(POINTS.finish, { way });
    yield* NO_STEPS;
  }

  /** Records that programs are about to get in. */
  markEntered(): void {
    if (!this.isEntered) writeWhole(POINTS.enter, this.workspace, ENTERED, Buffer.alloc(0));
  }

  /**
   * Removes the kernel's note on the upper layer of which folder the lower one is: the kernel would refuse to
   * mount over another. The landing checks for a replaced original itself; the work can be viewed in any
   * case.
   */
  forgetLower(): void {
    using upper = this.openOwn();
    this.#marks.forgetOrigin(POINTS.forget, upper);
  }

  /** Whether this folder is the sandbox's original, and not another in its place. */
  isOver(original: Folder): boolean {
    const root = BaseRecord.load(this.workspace).get(ROOT_PATH);
    return root === undefined || sameIdentity(original.ownFacts(), root);
  }

  /** Completes `base` with the paths that programs have covered, once none is inside any more. */
  noteWork(original: Folder): void {
    // Another folder in the original's place does not have the base of the work.
    if (!this.isEntered || !this.isOver(original)) return;
    const record = BaseRecord.load(this.workspace);
    using upper = this.openOwn();
    const { workspace } = this;
    completeMovedFolders({ workspace, upper, lower: original, marks: this.#marks, scope: this.#scope });
    const writer = new LayerWriter(this.#marks, record, this.workspace);
    const linked = this.#linkedNames(original);
    keepingFolderTimes(
      this.workspace,
      { upper, lower: original },
      linked.map(({ path }) => path),
      () => {
        for (const { path, storedAt } of linked) {
          using copies = this.workspace.openBelow(parentPath(storedAt));
          writer.link({ upper, lower: original }, path, { folder: copies, name: baseName(storedAt) });
        }
      },
    );
    this.#settle(this.#layersOf(upper, original, record));
    this.#noteAll(record, upper, original);
    record.saveIfChanged(this.workspace);
    this.forgetPrograms();
  }

  /** Records that the layer is complete without its mount. */
  forgetPrograms(): void {
    removeTree(POINTS.removeOld, this.workspace, WORK);
    this.workspace.removeFile(POINTS.leave, ENTERED);
  }

  /**
   * Notes the base of what programs have covered, while these stand still and the layers stay mounted. The
   * upper layer must not change beneath the mount, so it can't be made complete here.
   */
  noteHeld(original: Folder): void {
    if (!this.isOver(original)) return;
    using upper = this.openOwn();
    const why = this.#whyIncomplete(upper, original);
    if (why !== undefined)
      throw new BusyError(
        `The work in ${this.#scope.root} is complete only when its commands have ended: ${why}.`,
        {
          holder: "the commands of the plan",
          hint: "Wait until they have ended, and try again.",
        },
      );
    const record = BaseRecord.load(this.workspace);
    this.#noteAll(record, upper, original);
    record.saveIfChanged(this.workspace);
  }

  /** What only the mount knows. */
  #whyIncomplete(upper: Folder, original: Folder): string | undefined {
    if (this.way === "fuse") return "fuse-overlayfs may not have written everything yet";
    if (hasMovedFolders(upper, this.#marks)) return "a program has renamed a folder of the original";
    const [linked] = this.#linkedNames(original);
    return linked && `${displayPath(linked.path)} is another name of a file that a program has changed`;
  }

  #noteAll(record: BaseRecord, upper: Folder, original: Folder): void {
    const { only } = this.#scope;
    const isLeftOut = (path: string) => isExcluded(this.#scope, path);
    const settled = new SettledLayer(upper, record, this.#marks);
    noteCovered(record, upper, original, { marks: this.#marks, settled, only, isLeftOut, age: this.age });
  }

  /** Takes what has landed out of the upper layer, once no program is inside. */
  #settle(layers: Layers): void {
    settleLayer(layers, () => this.#noteAll(layers.record, layers.upper, layers.lower));
  }

  noteStaged(original: Folder, changes: ChangeSet, landing: Folder): void {
    if (!this.isEntered) return;
    this.#withLayers({ original }, (layers) => noteStaged(landing, changes, layers));
  }

  /** How to save the layer: without what has landed in it. */
  savedLayer(own: Folder): SavedLayer {
    const record = BaseRecord.load(this.workspace);
    const settled = new SettledLayer(own, record, this.#marks);
    return {
      isSaved: (path) => !settled.dropped.has(path),
      complete: (copy, checkpoint) => settleCopy(own, { copy, checkpoint }, settled, this.#marks),
      notes: () => {
        record.forgetAllLanded();
        record.forget((path) => settled.dropped.has(path));
        return record.toBytes();
      },
    };
  }

  read(original: Folder, own: Folder, path: string): Buffer {
    // Only the mounted overlay shows changes through other names of the same file.
    using mounted = this.#openMount(this);
    if (mounted !== undefined) return readFileBelow(mounted, path);
    this.#assertUnderstood(own, mounted);
    if (path === ROOT_PATH) return readFileBelow(own, path);
    using folder = LayeredFolder.openBelow(own, original, this.#marks, parentPath(path));
    const found = folder?.find(baseName(path));
    if (found === undefined) throw notThere(path);
    return readFileBelow(found.folder, baseName(path));
  }

  write(original: Folder, own: Folder, path: string, bytes: FileContent): WrittenFile {
    using mounted = this.#openMount(this);
    if (mounted !== undefined) return writeThroughMount(mounted, path, bytes);
    this.#assertUnderstood(own, mounted);
    const record = BaseRecord.load(this.workspace);
    const others = this.#scope.only === undefined ? otherNames(own, original, this.#marks, path) : [];
    const writer = new LayerWriter(this.#marks, record, this.workspace);
    const written = writer.write(own, original, path, bytes);
    if (others.length > 0) {
      using parent = own.openBelow(parentPath(path));
      const existing = { folder: parent, name: baseName(path) };
      for (const other of others) writer.link({ upper: own, lower: original }, other, existing);
    }
    record.saveIfChanged(this.workspace);
    return written;
  }

  /** Changes without a mount note the base of what they cover themselves, once that of programs is noted. */
  async browse<T>(original: Folder, own: Folder, purpose: "look" | "change", action: Browse<T>): Promise<T> {
    // Loaded late, as in `base`: an apply of a whole plan needs none of it.
    const { FolderEntries } = await import("../../engine/sandbox/shown-entries.ts");
    const { LayerEntries } = await import("./entries/layer-entries.ts");
    using mounted = this.#openMount(this);
    if (mounted !== undefined) return action(new FolderEntries(mounted, "mounted"));
    if (purpose === "change") this.noteWork(original);
    const record = BaseRecord.load(this.workspace);
    const writer = new LayerWriter(this.#marks, record, this.workspace);
    const layers = { upper: own, lower: original, scratch: this.workspace, marks: this.#marks, writer };
    return action(new LayerEntries(layers));
  }

  *diff(original: Folder, own: Folder): Steps<ChangeSet> {
    const record = BaseRecord.load(this.workspace);
    using mounted = this.#openMount(this);
    this.#assertUnderstood(own, mounted);
    // Notes the base as after the end of the programs, so that the diff is the same now and then.
    if (this.isEntered) this.#noteAll(record, own, original);
    return yield* diffLayers(own, original, {
      ...this.#diffOptions(record, own),
      isLive: this.isEntered,
      linkedNames: () => (this.isEntered ? this.#linkedNames(original) : []),
      ...(mounted !== undefined && { mounted }),
    });
  }

  /** A checkpoint is saved only once its base is noted. */
  *diffSaved(original: Folder, { entries, notes }: SavedTree): Steps<ChangeSet> {
    return yield* diffLayers(entries, original, this.#diffOptions(BaseRecord.fromBytes(notes), entries));
  }

  #diffOptions(record: BaseRecord, layer: Folder): LayerDiffOptions {
    const { only } = this.#scope;
    return {
      marks: this.#marks,
      record,
      settled: new SettledLayer(layer, record, this.#marks),
      isLive: false,
      ...(only !== undefined && { only }),
      isLeftOut: (path) => isExcluded(this.#scope, path),
      workspace: this.workspace,
      age: this.age,
    };
  }

  baseLookup(original: Folder): (path: string) => BaseFacts | undefined {
    const record = BaseRecord.loadForLookup(this.workspace);
    return (path) => {
      const noted = record.get(path);
      if (noted !== undefined || (path === ROOT_PATH && this.#scope.only !== undefined)) return noted;
      return readEntry(original, path, lowerFacts);
    };
  }

  async base(): Promise<MovableBase<EarlierLayer>> {
    const { earlierLayer, inTheWay } = await import("./landed-layer.ts");
    const { landInLayer, takeBackInLayer } = await import("./landed/landed-base.ts");
    const { adoptInLayer, uncoverInLayer } = await import("./entries/merged-layer.ts");
    return {
      earlier: (part) => this.#withLayers(part, (layers) => earlierLayer(part, layers)),
      land: (part, earlier) =>
        this.#withLayers(part, (layers) => {
          landInLayer(part, earlier, layers);
          if (!this.isEntered) this.#settle(layers);
        }),
      takeBack: (part, earlier) =>
        this.#withLayers(part, (layers) => takeBackInLayer(part, earlier, layers, this.isEntered)),
      // Entries that return to the upper layer need a free path there.
      conflicts: ({ original, manifest }) => {
        using upper = this.openOwn();
        const { changes } = runAtOnce(this.diff(original, upper));
        const why = "changed in the sandbox since it landed";
        return inTheWay(manifest.entries, changes).map(({ path }) => ({ path, why }));
      },
      adopt: (original, entries) => this.#withLayers({ original }, (layers) => adoptInLayer(entries, layers)),
      takeOriginals: (original, paths) =>
        this.#withLayers({ original }, (layers) => uncoverInLayer(paths, layers)),
    };
  }

  #withLayers<T>({ original }: Pick<LandedPart, "original">, action: (layers: Layers) => T): T {
    using upper = this.openOwn();
    return action(this.#layersOf(upper, original, BaseRecord.load(this.workspace)));
  }

  #layersOf(upper: Folder, lower: Folder, record: BaseRecord): Layers {
    return { upper, lower, workspace: this.workspace, record, marks: this.#marks };
  }

  /** Only the kernel shows what is in a folder that a program has moved, until the work is noted. */
  #assertUnderstood(upper: Folder, mounted: Folder | undefined): void {
    if (!this.isEntered || mounted?.path === this.workspace.label(MERGED)) return;
    if (!hasMovedFolders(upper, this.#marks)) return;
    throw new BusyError(
      `A program has moved a folder in the sandbox of ${this.#scope.root}, which is not mounted here any more.`,
      {
        holder: "the program that was inside",
        hint: "Ask for the path of the sandbox once, which mounts it, and try again.",
      },
    );
  }

  isMark = (name: string, facts: Facts): boolean => this.#marks.isMarkByItself(name, facts);

  #linkedNames(original: Folder): readonly LinkedName[] {
    return this.#scope.only === undefined ? linkedNames(this.workspace, original, this.#marks) : [];
  }

  /** Hides a workspace inside the original from programs. */
  #hideWorkspaces(original: Folder, upper: Folder, facts: Facts): void {
    const hidden = original.names().filter((name) => OWN_NAME.test(name));
    for (const name of hidden) upper.createWhiteout(POINTS.hide, name);
    if (hidden.length > 0) upper.setTimes(POINTS.root, ROOT_PATH, facts);
  }

  get #marks(): LayerMarks {
    return new LayerMarks(this.way);
  }
}
