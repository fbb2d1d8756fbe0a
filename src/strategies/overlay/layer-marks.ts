import { bytesFromPath, pathFromBytes, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { FileHandle } from "../../system/calls/file-handles.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readLayerMark, writeXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import type { Failpoint } from "../../system/failpoints.ts";
import type { OverlayWay } from "./ways.ts";

/**
 * How an upper layer says what is gone and what is hidden: the marks of overlayfs and of fuse-overlayfs.
 *
 * - A *whiteout* says that a name of the lower layer is gone: a character device 0:0; an empty file with the
 *   attribute `whiteout`; and, made by fuse-overlayfs where it can make no device, an entry `.wh.NAME`.
 * - An *opaque* folder hides what the lower layer has at its place: the attribute `opaque`, "y"; of
 *   fuse-overlayfs also an entry `.wh..wh..opq` in it.
 * - *origin* is on what was copied up from the lower layer, for folders always. fuse-overlayfs makes every
 *   folder opaque that it did not copy up.
 * Attributes begin with `trusted.overlay.` where root mounts, `user.overlay.` in a user namespace,
 * `user.fuseoverlayfs.` (or as root `trusted.overlay.`) with fuse-overlayfs. A program inside can't set those
 * of its own sandbox.
 */
const FUSE_NAME = /^\.wh\./;
const FUSE_OPAQUE = new Set([".wh..wh..opq", ".wh..opq"]);
const YES = Buffer.from("y").toString("base64");

/**
 * The handle in an overlay's own form of it: version, magic 0xfb, length, flags, type, the file system's
 * UUID, the bytes.
 */
export function originHandle(bytes: Buffer): FileHandle | undefined {
  const HEADER = 21;
  if (bytes.length <= HEADER || bytes[1] !== 0xfb) return undefined;
  return `${bytes[4]}:${bytes.toString("hex", HEADER)}`;
}

export class LayerMarks {
  readonly #isFuse: boolean;
  readonly #prefixes: readonly string[];

  constructor(way: OverlayWay) {
    this.#isFuse = way === "fuse";
    this.#prefixes = {
      kernel: ["trusted.overlay."],
      "user-namespace": ["user.overlay."],
      fuse: ["trusted.overlay.", "user.fuseoverlayfs."],
    }[way];
  }

  /** Whether names that share a file are kept together by an index. */
  get hasIndex(): boolean {
    return !this.#isFuse;
  }

  /** Whether an entry of the upper layer is only there to say something about the lower one. */
  isMark(folder: Folder, name: string, facts: Facts): boolean {
    if (this.isMarkByItself(name, facts)) return true;
    return facts.kind === "file" && facts.size === 0 && this.#markOf(folder, name, "whiteout") !== undefined;
  }

  /**
   * The same for those marks that programs can make overlays leave: attributes of whiteouts only layers from
   * elsewhere have.
   */
  isMarkByItself(name: string, facts: Facts): boolean {
    return (facts.kind === "device" && facts.rdev === "0:0") || (this.#isFuse && FUSE_NAME.test(name));
  }

  /** The name of the lower layer that is gone because of an entry `.wh.NAME`. */
  whitenedName(name: string): string | undefined {
    return this.#isFuse && FUSE_NAME.test(name) && !FUSE_OPAQUE.has(name)
      ? name.slice(".wh.".length)
      : undefined;
  }

  /** The names that an entry of the upper layer can have that is about this name. */
  namesFor(name: string): readonly string[] {
    const LONGEST = 255;
    const isTooLong = bytesFromPath(name).length + ".wh.".length > LONGEST;
    return this.#isFuse && !isTooLong ? [name, `.wh.${name}`] : [name];
  }

  /** Whether nothing of the lower layer shows through this folder. */
  isOpaque(folder: Folder): boolean {
    if (this.#keys("opaque").some((key) => readLayerMark(folder, ROOT_PATH, key) === YES)) return true;
    return this.#isFuse && folder.facts(".wh..wh..opq") !== undefined;
  }

  /** Whether a folder that is not opaque was there in the lower layer when it was copied up. */
  isCopiedUp(folder: Folder): boolean {
    return this.#isFuse || this.#markOf(folder, ROOT_PATH, "origin") !== undefined;
  }

  /** What a folder that we copy up ourselves is marked with. */
  get copiedUp(): Xattrs {
    return this.#isFuse ? {} : { [`${this.#prefixes[0]}origin`]: "" };
  }

  /**
   * What a folder that we make where nothing is in the lower layer is marked with: one without a mark is, to
   * fuse-overlayfs, copied up.
   */
  get made(): Xattrs {
    return this.#isFuse ? this.opaque : {};
  }

  /** Removes from a layer itself what it says about the layer below. */
  forgetOrigin(point: Failpoint, layer: Folder): void {
    this.forgetOriginOf(point, layer, ROOT_PATH);
  }

  /** Removes from an entry of a layer what it says about what it is a copy of. */
  forgetOriginOf(point: Failpoint, folder: Folder, name: string): void {
    for (const key of this.#keys("origin")) {
      const origin = readLayerMark(folder, name, key);
      if (origin !== undefined) writeXattrs(point, folder, name, {}, { [key]: origin });
    }
  }

  /** What a folder that we make in the place of a whiteout is marked with. */
  get opaque(): Xattrs {
    const prefix = this.#isFuse && process.geteuid?.() !== 0 ? this.#prefixes.at(-1) : this.#prefixes[0];
    return { [`${prefix}opaque`]: YES };
  }

  /** What a file that was copied up is a copy of, where the kernel says so. */
  originOf(folder: Folder, name: string): FileHandle | undefined {
    const origin = this.#isFuse ? undefined : this.#markOf(folder, name, "origin");
    return origin === undefined ? undefined : originHandle(Buffer.from(origin, "base64"));
  }

  /** Whether a file was copied up, but nothing says from where: in a user namespace. */
  isCopyOfUnknown(folder: Folder, name: string): boolean {
    return !this.#isFuse && this.#markOf(folder, name, "origin") === "";
  }

  /** The path, in the lower layer, of what a file was copied up from, where fuse-overlayfs says so. */
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
 * Without privilege the attributes of a file that nobody may read can't be read either; then nothing is known
 * of it.
 */
function readableMark(folder: Folder, name: string, key: string): string | undefined {
  return unlessFailed(["EACCES"], () => readLayerMark(folder, name, key));
}
