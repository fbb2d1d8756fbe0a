import { bytesFromPath, pathFromBytes, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { FileHandle } from "../../system/calls/file-handles.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readLayerMark, writeXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import type { OverlayWay } from "./layout.ts";

/**
 * The marks of overlayfs and fuse-overlayfs in an upper layer, which say what is gone and what is hidden.
 *
 * - A *whiteout* says that a name of the lower layer is gone: a character device 0:0; an empty file with the
 *   attribute `whiteout`; or, from fuse-overlayfs where it can't make devices, an entry `.wh.NAME`.
 * - An *opaque* folder hides the lower layer's folder at its path: the attribute `opaque` is "y"; for
 *   fuse-overlayfs also an entry `.wh..wh..opq` inside.
 * - A *redirect* is on a folder that a program has moved: the path in the lower layer that it shows
 *   (moved-folders.ts). Only where root mounts.
 * - *origin* is on entries that were copied up from the lower layer, always on folders. fuse-overlayfs makes
 *   every folder opaque that it did not copy up.
 *
 * Attributes begin with `trusted.overlay.` where root mounts, with `user.overlay.` in a user namespace, and
 * with `user.fuseoverlayfs.` (as root also `trusted.overlay.`) for fuse-overlayfs. A program inside can't set
 * those of its own sandbox.
 */
const FUSE_NAME = /^\.wh\./;
const FUSE_OPAQUE = new Set([".wh..wh..opq", ".wh..opq"]);
const HEADER = 21;
const MAGIC = 0xfb;
const YES = Buffer.from("y").toString("base64");

/**
 * Decodes the overlay's form of a file handle: version, magic 0xfb, length, flags, type, the UUID of the file
 * system, the bytes.
 */
export function originHandle(bytes: Buffer): FileHandle | undefined {
  if (bytes.length <= HEADER || bytes[1] !== MAGIC) return undefined;
  return `${bytes[4]}:${bytes.toString("hex", HEADER)}`;
}

/** A name in the overlay's index for a file of the lower layer: its handle in the same form. */
export function indexName(handle: FileHandle): string {
  const [type, hex = ""] = handle.split(":");
  const header = Buffer.alloc(HEADER);
  header[1] = MAGIC;
  header[4] = Number(type);
  return header.toString("hex") + hex;
}

export class LayerMarks {
  readonly #way: OverlayWay;
  readonly #isFuse: boolean;
  readonly #prefixes: readonly string[];

  constructor(way: OverlayWay) {
    this.#way = way;
    this.#isFuse = way === "fuse";
    this.#prefixes = {
      kernel: ["trusted.overlay."],
      "user-namespace": ["user.overlay."],
      fuse: ["trusted.overlay.", "user.fuseoverlayfs."],
    }[way];
  }

  /** Whether an index keeps the names of a file together. */
  get hasIndex(): boolean {
    return !this.#isFuse;
  }

  /** Whether an entry of the upper layer is only a mark about the lower one. */
  isMark(folder: Folder, name: string, facts: Facts): boolean {
    if (this.isMarkByItself(name, facts)) return true;
    return facts.kind === "file" && facts.size === 0 && this.#markOf(folder, name, "whiteout") !== undefined;
  }

  /** Like `isMark`, but without attribute whiteouts, which our own mounts never make. */
  isMarkByItself(name: string, facts: Facts): boolean {
    return (facts.kind === "device" && facts.rdev === "0:0") || (this.#isFuse && FUSE_NAME.test(name));
  }

  /** The lower name that an entry `.wh.NAME` deletes. */
  whitenedName(name: string): string | undefined {
    return this.#isFuse && FUSE_NAME.test(name) && !FUSE_OPAQUE.has(name)
      ? name.slice(".wh.".length)
      : undefined;
  }

  /** The names under which the upper layer can hold the entry or the whiteout of this name. */
  namesFor(name: string): readonly string[] {
    const LONGEST = 255;
    const isTooLong = bytesFromPath(name).length + ".wh.".length > LONGEST;
    return this.#isFuse && !isTooLong ? [name, `.wh.${name}`] : [name];
  }

  /** Whether programs can move folders of the lower layer. */
  get canRedirect(): boolean {
    return this.#way === "kernel";
  }

  /** The redirect of a folder that was moved. */
  redirectOf(folder: Folder, name: string): string | undefined {
    const redirect = this.canRedirect ? this.#markOf(folder, name, "redirect") : undefined;
    return redirect === undefined ? undefined : pathFromBytes(Buffer.from(redirect, "base64"));
  }

  /** Removes the redirect of a folder. */
  forgetRedirect(point: Failpoint, folder: Folder): void {
    this.#forget(point, folder, ROOT_PATH, "redirect");
  }

  /** Whether this folder hides the lower layer's folder at its path: it is closed, or was moved here. */
  isOpaque(folder: Folder): boolean {
    return this.isClosed(folder) || this.redirectOf(folder, ROOT_PATH) !== undefined;
  }

  /** Whether nothing of the lower layer shows in this folder. */
  isClosed(folder: Folder): boolean {
    if (this.#keys("opaque").some((key) => readLayerMark(folder, ROOT_PATH, key) === YES)) return true;
    return this.#isFuse && folder.facts(".wh..wh..opq") !== undefined;
  }

  /** Whether a folder that is not opaque existed in the lower layer when it was copied up. */
  isCopiedUp(folder: Folder): boolean {
    return this.#isFuse || this.#markOf(folder, ROOT_PATH, "origin") !== undefined;
  }

  /** The marks of a folder that we copy up. */
  get copiedUp(): Xattrs {
    return this.#isFuse ? {} : { [`${this.#prefixes[0]}origin`]: "" };
  }

  /**
   * The marks of a folder that we make where the lower layer has nothing: fuse-overlayfs takes a folder
   * without marks for a copied-up one.
   */
  get made(): Xattrs {
    return this.#isFuse ? this.opaque : {};
  }

  /** Removes the root's reference to the layer below. */
  forgetOrigin(point: Failpoint, layer: Folder): void {
    this.forgetOriginOf(point, layer, ROOT_PATH);
  }

  /** Removes an entry's reference to its original. */
  forgetOriginOf(point: Failpoint, folder: Folder, name: string): void {
    this.#forget(point, folder, name, "origin");
  }

  #forget(point: Failpoint, folder: Folder, name: string, mark: string): void {
    for (const key of this.#keys(mark)) {
      const value = readLayerMark(folder, name, key);
      if (value !== undefined) writeXattrs(point, folder, name, {}, { [key]: value });
    }
  }

  /** The marks of a folder that we make in the place of a whiteout. */
  get opaque(): Xattrs {
    const prefix = this.#isFuse && process.geteuid?.() !== 0 ? this.#prefixes.at(-1) : this.#prefixes[0];
    return { [`${prefix}opaque`]: YES };
  }

  /** Lets the lower layer's folder show in this one, as if it was copied up. */
  showLower(point: Failpoint, folder: Folder): void {
    const { mtime } = folder.ownFacts();
    const closing = this.#isFuse ? [...FUSE_OPAQUE].filter((name) => folder.facts(name) !== undefined) : [];
    for (const name of closing) folder.removeFile(point, name);
    if (closing.length > 0) folder.setTimes(point, ROOT_PATH, { mtime });
    this.#forget(point, folder, ROOT_PATH, "opaque");
    writeXattrs(point, folder, ROOT_PATH, this.copiedUp, {});
  }

  /** The original of a copied-up file, where the kernel names it. */
  originOf(folder: Folder, name: string): FileHandle | undefined {
    const origin = this.#isFuse ? undefined : this.#markOf(folder, name, "origin");
    return origin === undefined ? undefined : originHandle(Buffer.from(origin, "base64"));
  }

  /** Whether a file was copied up but does not name its original: in a user namespace. */
  isCopyOfUnknown(folder: Folder, name: string): boolean {
    return !this.#isFuse && this.#markOf(folder, name, "origin") === "";
  }

  /** The lower path that a file was copied up from, where fuse-overlayfs names it. */
  originPathOf(folder: Folder, name: string): string | undefined {
    const origin = this.#isFuse ? readableMark(folder, name, "user.fuseoverlayfs.origin") : undefined;
    return origin === undefined ? undefined : pathFromBytes(Buffer.from(origin, "base64")).replace(/\0$/, "");
  }

  #keys(mark: string): readonly string[] {
    return this.#prefixes.map((prefix) => `${prefix}${mark}`);
  }

  #markOf(folder: Folder, name: string, mark: string): string | undefined {
    for (const key of this.#keys(mark)) {
      const value = readableMark(folder, name, key);
      if (value !== undefined) return value;
    }
    return undefined;
  }
}

/**
 * Without privilege, the attributes of an unreadable file are unreadable too; then nothing is known of it.
 */
function readableMark(folder: Folder, name: string, key: string): string | undefined {
  return unlessFailed(["EACCES"], () => readLayerMark(folder, name, key));
}
