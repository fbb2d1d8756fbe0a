import { setTimeout as delay } from "node:timers/promises";
import { BusyError, UsageError } from "../../core/errors/errors.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import type { Scope } from "../../engine/workspace/scope.ts";
import { Folder } from "../../system/calls/folder.ts";
import { isThere } from "../../system/data/existence.ts";
import { shortDigest } from "../../system/data/short-digest.ts";
import { writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { milliseconds } from "../../system/milliseconds.ts";
import { holdersOf, type LiveMount, liveMounts, openLiveMount } from "../../system/mount/live-mounts.ts";
import { mayMount, mountOverlay, setReadOnly } from "../../system/mount/overlay-mount.ts";
import { isDeadFuse, isMountPoint, unmount } from "../../system/mount/unmount.ts";
import type { LayeredTree } from "./layered-tree.ts";
import { MERGED, WORK } from "./layout.ts";

/**
 * The one mount of a sandbox, shared by all programs inside. A process that may mount, or has fuse, mounts it
 * in its own view, at `merged` in the workspace. That folder exists only while something is mounted on it, so
 * that no program writes into an empty folder. Without privilege, the launcher mounts it in the namespace of
 * the programs. It is found by the name of its source.
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
/** Grace period for short-lived users, such as file indexers or a namespace that is still being set up. */
const PASSING_MS = 1000;
const LOOK_AGAIN_MS = 20;
/**
 * Exists once a user was told the path of the mount. The mount then stays, except while the sandbox is being
 * saved, landed or emptied.
 */
const KEPT = "kept";

export class OverlayMount {
  readonly #workspace: Folder;
  readonly #scope: Scope;
  #source: string | undefined;

  constructor(workspace: Folder, scope: Scope) {
    this.#workspace = workspace;
    this.#scope = scope;
  }

  /** The name by which the mount is found in every namespace. */
  get source(): string {
    this.#source ??= `drydock:${shortDigest(this.#workspace.path).slice(0, 24)}`;
    return this.#source;
  }

  get isKept(): boolean {
    return this.#workspace.facts(KEPT) !== undefined;
  }

  get #isMounted(): boolean {
    return isMountPoint(this.#workspace, MERGED);
  }

  /** Whether the folder in the original's place is one that the mount can go over. */
  isOverOriginal(tree: LayeredTree): boolean {
    if (!isThere(this.#scope.root)) return false;
    using original = Folder.open(this.#scope.root);
    return tree.isOver(original);
  }

  /**
   * Whether this process can mount it. For a user namespace, only a process that is already in one can, for
   * example in an unprivileged container.
   */
  canBeMade(tree: LayeredTree): boolean {
    return tree.way !== "user-namespace" || this.#isMounted || mayMount();
  }

  /** Mounts it in the view of this process, unless it is mounted. */
  async make(tree: LayeredTree): Promise<void> {
    if (tree.way === "fuse" && isDeadFuse(this.#workspace, MERGED)) await this.#unmount(tree);
    if (this.#isMounted) {
      // A crash may have left it read-only.
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
    if (tree.way === "fuse") {
      const { mountFuseOverlay } = await import("../../system/mount/fuse-overlay.ts");
      await mountFuseOverlay(POINTS.mount, layers, target);
    } else
      mountOverlay(POINTS.mount, layers, target, {
        source: this.source,
        kind: tree.way === "user-namespace" ? "user" : "indexed",
      });
  }

  keep(): void {
    if (!this.isKept) writeWhole(POINTS.keep, this.#workspace, KEPT, Buffer.alloc(0));
  }

  /**
   * Makes the work folder that a mount needs besides the layers, fresh before the first mount. Returns its
   * path.
   */
  prepareWork(tree: LayeredTree): string {
    if (this.#writerElsewhere(tree) === undefined) {
      // Notes what a crash or a restart of the machine kept from being noted.
      using original = Folder.open(this.#scope.root);
      this.#assertOver(tree, original);
      tree.noteWork(original);
      // A volatile mount leaves a note that its layers may be incomplete. Within one boot they are complete.
      removeTree(POINTS.clear, this.#workspace, WORK);
      tree.forgetLower();
    }
    tree.markEntered();
    this.#workspace.ensureFolder(POINTS.work, WORK).close();
    return this.#workspace.label(WORK);
  }

  /** Ends the mount, in any namespace. Returns the process that prevents it, if one does. */
  async end(tree: LayeredTree): Promise<string | undefined> {
    return await lastingHolder(() => this.#tryToEnd(tree));
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

  /** Refuses another folder: the work means nothing over it, and paths without a note would be lost. */
  #assertOver(tree: LayeredTree, original: Folder): void {
    if (tree.isOver(original)) return;
    throw new UsageError(`Another folder is in the place of the original ${this.#scope.root}.`, {
      hint: "Bring the original back, or cancel the plan.",
    });
  }

  /** Refuses a second mount: two mounts of the same layers do not see each other's changes. */
  async #assertNotElsewhere(tree: LayeredTree): Promise<void> {
    const holder = await lastingHolder(async () => {
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
   * A namespace with a writable mount of the sandbox. Searched only while programs may be inside, because it
   * takes a while.
   */
  #writerElsewhere(tree: LayeredTree): LiveMount | undefined {
    if (tree.isFinished && !tree.isEntered) return undefined;
    return liveMounts(this.source).find(({ isReadOnly }) => !isReadOnly);
  }

  /**
   * Makes the file system read-only before the unmount, because a namespace made meanwhile keeps a copy of
   * the mount.
   */
  async #unmount(tree: LayeredTree): Promise<"done" | "busy"> {
    const path = this.#workspace.label(MERGED);
    // Only root can mount without fuse, so this tells for an unfinished sandbox.
    const isFuse = tree.isFinished ? tree.way === "fuse" : process.geteuid?.() !== 0;
    if (isFuse) {
      const { unmountFuse } = await import("../../system/mount/fuse-overlay.ts");
      return await unmountFuse(POINTS.unmount, path);
    }
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
    // A fuse mount is of no use after its process died.
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

/** The process that still holds the mount after the grace period, if one does. */
async function lastingHolder(inTheWay: () => Promise<string | undefined>): Promise<string | undefined> {
  const limit = milliseconds() + PASSING_MS;
  for (;;) {
    const holder = await inTheWay();
    if (holder === undefined || milliseconds() > limit) return holder;
    await delay(LOOK_AGAIN_MS);
  }
}

function nameOf(holder: { readonly pid: number; readonly command: string } | undefined): string {
  return holder === undefined ? "another process" : `${holder.command} (pid ${holder.pid})`;
}
