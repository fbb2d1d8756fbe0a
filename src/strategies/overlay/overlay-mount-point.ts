import { setTimeout as delay } from "node:timers/promises";
import { BusyError, UsageError } from "../../core/errors/errors.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { Scope } from "../../engine/workspace/scope.ts";
import { Folder } from "../../system/calls/folder.ts";
import { digestOf } from "../../system/data/digest.ts";
import { isThere } from "../../system/data/existence.ts";
import { writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { isDeadFuse, mountFuseOverlay, unmountFuse } from "../../system/mount/fuse-overlay.ts";
import { holdersOf, type LiveMount, liveMounts, openLiveMount } from "../../system/mount/live-mounts.ts";
import { mayMount, mountOverlay, setReadOnly } from "../../system/mount/overlay-mount.ts";
import { isMountPoint, unmount } from "../../system/mount/unmount.ts";
import type { LayeredTree } from "./layered-tree.ts";
import { MERGED, WORK } from "./layout.ts";

/**
 * The one mount of a sandbox, shared by all programs inside. Who may mount, or has fuse, has it in his own
 * view, at `merged` in the workspace, a folder that is there only while something is mounted on it, so that
 * nobody writes into nothing. Without privilege it is in the namespace of the programs, made by who starts
 * them; it is found by the name of its source.
 */
const POINTS = {
  work: failpoint("overlay.create-work"),
  point: failpoint("overlay.create-mount-point"),
  mount: failpoint("overlay.mount"),
  freeze: failpoint("overlay.freeze"),
  unmount: failpoint("overlay.unmount"),
  keep: failpoint("overlay.keep-mount"),
  clear: failpoint("overlay.clear-mount"),
};
/**
 * How long we wait for who is only passing by: one who looks into every new mount, a namespace that has
 * copies of all until it is set up.
 */
const PASSING_MS = 1000;
const LOOK_AGAIN_MS = 20;
/**
 * There once somebody was told the path of the mount: it is then there whenever the sandbox is not being
 * saved, landed or emptied.
 */
const KEPT = "kept";

export class OverlayMount {
  /** The name by which the mount is found in every namespace. */
  readonly source: string;
  readonly #workspace: Folder;
  readonly #scope: Scope;

  constructor(workspace: Folder, scope: Scope) {
    this.source = `drydock:${digestOf(workspace.path).slice(0, 24)}`;
    this.#workspace = workspace;
    this.#scope = scope;
  }

  get isKept(): boolean {
    return this.#workspace.facts(KEPT) !== undefined;
  }

  get #isMounted(): boolean {
    return isMountPoint(this.#workspace, MERGED);
  }

  /** Whether it can be made over what is in the original's place now. */
  isOverOriginal(tree: LayeredTree): boolean {
    if (!isThere(this.#scope.root)) return false;
    using original = Folder.open(this.#scope.root);
    return tree.isOver(original);
  }

  /**
   * Whether this process can make it. In a user namespace only who is in one already: in a container without
   * privilege, for example.
   */
  canBeMade(tree: LayeredTree): boolean {
    return tree.way !== "user-namespace" || this.#isMounted || mayMount();
  }

  /** Mounts it in the view of this process, if it is not. */
  async make(tree: LayeredTree): Promise<void> {
    if (tree.way === "fuse" && isDeadFuse(this.#workspace, MERGED)) await this.#unmount(tree);
    if (this.#isMounted) {
      // A crash may have left it closed to writing.
      if (tree.way !== "fuse") this.#setReadOnly(false);
      return;
    }
    await this.#assertNotElsewhere(tree);
    this.prepareWork(tree);
    using lower = Folder.open(this.#scope.root);
    using upper = tree.openOwn();
    using work = this.#workspace.openChild(WORK);
    using target = this.#workspace.ensureFolder(POINTS.point, MERGED);
    const layers = { lower, upper, work };
    if (tree.way === "fuse") await mountFuseOverlay(POINTS.mount, layers, target);
    else
      mountOverlay(POINTS.mount, layers, target, {
        source: this.source,
        kind: tree.way === "user-namespace" ? "user" : "indexed",
      });
  }

  keep(): void {
    if (!this.isKept) writeWhole(POINTS.keep, this.#workspace, KEPT, Buffer.alloc(0));
  }

  /**
   * Makes the folder that a mount needs besides the layers, as it has to be before the first one; its path.
   */
  prepareWork(tree: LayeredTree): string {
    if (this.#writerElsewhere(tree) === undefined) {
      // What a crash, or a restart of the machine, kept from being noted.
      using original = Folder.open(this.#scope.root);
      this.#assertOver(tree, original);
      tree.noteWork(original);
      // A volatile mount leaves a note that its layers may be incomplete. Within one boot they are not.
      removeTree(POINTS.clear, this.#workspace, WORK);
      tree.forgetLower();
    }
    tree.markEntered();
    this.#workspace.ensureFolder(POINTS.work, WORK).close();
    return this.#workspace.label(WORK);
  }

  /** Ends the mount, in whatever namespace; who keeps that from being done, if somebody does. */
  async end(tree: LayeredTree): Promise<string | undefined> {
    return await whoStays(() => this.#tryToEnd(tree));
  }

  async #tryToEnd(tree: LayeredTree): Promise<string | undefined> {
    const isMounted = this.#isMounted;
    if (isMounted && (await this.#unmount(tree)) === "busy")
      return nameOf(holdersOf(this.#workspace.label(MERGED))[0]);
    const writer = isMounted ? undefined : this.#writerElsewhere(tree);
    if (writer !== undefined) return nameOf(writer);
    removeTree(POINTS.clear, this.#workspace, MERGED);
    return undefined;
  }

  /** The work means nothing over another folder, and what is not noted yet would be lost. */
  #assertOver(tree: LayeredTree, original: Folder): void {
    if (tree.isOver(original)) return;
    throw new UsageError(`Another folder is in the place of the original ${this.#scope.root}.`, {
      hint: "Bring the original back, or cancel the plan.",
    });
  }

  /**
   * Two mounts of the same layers know nothing of each other: who works in one would not see what is done in
   * the other.
   */
  async #assertNotElsewhere(tree: LayeredTree): Promise<void> {
    const holder = await whoStays(async () => {
      const writer = this.#writerElsewhere(tree);
      return writer && nameOf(writer);
    });
    if (holder === undefined) return;
    throw new BusyError(
      `The sandbox of ${this.#scope.root} is mounted in another namespace, for ${holder}.`,
      {
        holder,
        hint: "End it, or work there.",
      },
    );
  }

  /**
   * A namespace in which the sandbox is mounted and can be written to. Looked for only where programs may be
   * inside: it takes a while.
   */
  #writerElsewhere(tree: LayeredTree): LiveMount | undefined {
    if (tree.isFinished && !tree.isEntered) return undefined;
    return liveMounts(this.source).find(({ isReadOnly }) => !isReadOnly);
  }

  /**
   * A namespace that was made meanwhile has a copy of the mount, which stays there; so the file system is
   * closed to all writing first.
   */
  async #unmount(tree: LayeredTree): Promise<"done" | "busy"> {
    const path = this.#workspace.label(MERGED);
    // Only root could have mounted one that is not finished without fuse.
    const isFuse = tree.isFinished ? tree.way === "fuse" : process.geteuid?.() !== 0;
    if (isFuse) return await unmountFuse(POINTS.unmount, path);
    if (this.#setReadOnly(true) === "busy") return "busy";
    const outcome = await unmount(POINTS.unmount, path);
    if (outcome === "busy") this.#setReadOnly(false);
    return outcome;
  }

  #setReadOnly(isReadOnly: boolean): "done" | "busy" {
    using mounted = this.#workspace.openChild(MERGED);
    return setReadOnly(POINTS.freeze, mounted, isReadOnly);
  }

  /** The sandbox as programs see it now, if it is mounted for any. */
  openLive(tree: LayeredTree): Folder | undefined {
    if (!tree.isEntered) return undefined;
    // What is left of a mount whose process died serves nobody.
    if (this.#isMounted)
      return isDeadFuse(this.#workspace, MERGED) ? undefined : this.#workspace.openChild(MERGED);
    const live = this.#writerElsewhere(tree);
    if (live === undefined) return undefined;
    const folder = openLiveMount(live);
    if (folder !== undefined) return folder;
    throw new BusyError(
      `The sandbox of ${this.#scope.root} is in use by ${nameOf(live)}, which does not let us in.`,
      {
        holder: nameOf(live),
        hint: "Wait until it has ended, and try again.",
      },
    );
  }
}

/** Who is in the way, unless it is somebody who is only passing by. */
async function whoStays(inTheWay: () => Promise<string | undefined>): Promise<string | undefined> {
  const limit = performance.now() + PASSING_MS;
  for (;;) {
    const holder = await inTheWay();
    if (holder === undefined || performance.now() > limit) return holder;
    await delay(LOOK_AGAIN_MS);
  }
}

function nameOf(holder: { readonly pid: number; readonly command: string } | undefined): string {
  return holder === undefined ? "another process" : `${holder.command} (pid ${holder.pid})`;
}
