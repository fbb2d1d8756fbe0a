import { baseName, bytesFromPath, parentPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import type { Facts, Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { isAfter } from "../base/barrier.ts";
import { aligned, bytesOf } from "../base/baseline-columns.ts";
import type { CopyOptions } from "../tree/copy-tree.ts";

/**
 * The files that checkpoints of a sandbox share, so that a checkpoint costs what changed since the one before
 * it: a file of the sandbox that did not change in between is a second name of the copy that the earlier
 * checkpoint has. Copies are never written to, and removing a checkpoint removes only its names.
 *
 * `checkpoints/ID/files` lists the files of the sandbox that a checkpoint copied, little-endian:
 *   f64       number of files
 *   f64 ×4×n  inode and change time (seconds, nanoseconds) of the file in the sandbox; end of the copy's path
 *   paths     of the copies, below the folder of the checkpoint, one after the other
 *
 * Equal inodes with equal change times are equal files if that time is before a barrier (barrier.ts) that was
 * taken before the copying; other files are not listed. The list serves only the next checkpoint: without it,
 * that copies everything.
 */
const POINTS = { list: failpoint("checkpoint.list-files"), share: failpoint("checkpoint.share-file") };
const FILES = "files";
const COLUMNS = 4;

/** The list of the files that one checkpoint copied. */
class FileList {
  readonly #rows: Float64Array;
  readonly #paths: Buffer;
  readonly #rowOf = new Map<number, number>();

  constructor(rows: Float64Array, paths: Buffer) {
    this.#rows = rows;
    this.#paths = paths;
    for (let at = 0; at < rows.length; at += COLUMNS) this.#rowOf.set(rows[at] as number, at);
  }

  /** The path of the copy of this file, if the file did not change since. */
  find({ ino, ctime }: Facts): string | undefined {
    const row = this.#rowOf.get(ino);
    if (row === undefined || this.#rows[row + 1] !== ctime[0] || this.#rows[row + 2] !== ctime[1])
      return undefined;
    const start = row === 0 ? 0 : this.#rows[row - 1];
    return pathFromBytes(this.#paths.subarray(start, this.#rows[row + 3]));
  }

  static of(checkpoint: Folder): FileList | undefined {
    const bytes = readWhole(checkpoint, FILES);
    if (bytes === undefined || bytes.length < 8) return undefined;
    const end = 8 + bytes.readDoubleLE(0) * COLUMNS * 8;
    return new FileList(new Float64Array(...aligned(bytes.subarray(8, end), 8)), bytes.subarray(end));
  }
}

/** The files of a checkpoint that is being made. */
export class SharedFiles implements Disposable {
  readonly #device: string;
  readonly #barrier: Time | undefined;
  readonly #earlier: Folder | undefined;
  readonly #earlierFiles: FileList | undefined;
  /** The folder of the earlier checkpoint that was used last. */
  #open: { readonly path: string; readonly folder: Folder } | undefined;
  readonly #rows: number[] = [];
  readonly #paths: Buffer[] = [];
  #length = 0;

  /**
   * `barrier` is needed unless nothing else writes to the sandbox meanwhile. `earlier` is the folder of a
   * complete checkpoint; it is closed with this object.
   */
  constructor(workspace: Folder, barrier?: Time, earlier?: Folder) {
    this.#device = workspace.ownFacts().device;
    this.#barrier = barrier;
    this.#earlier = earlier;
    this.#earlierFiles = earlier === undefined ? undefined : FileList.of(earlier);
  }

  [Symbol.dispose](): void {
    this.#open?.folder.close();
    this.#earlier?.close();
  }

  /** Options for a copy into the checkpoint. `pathOf` gives the path below the checkpoint's folder. */
  options(pathOf: (path: string) => string): Pick<CopyOptions, "linkEarlier" | "onCopied"> {
    return {
      linkEarlier: (path, facts, to, name) => {
        if (!this.#link(facts, to, name)) return false;
        this.note(pathOf(path), facts);
        return true;
      },
      onCopied: ({ path, original }) => this.note(pathOf(path), original),
    };
  }

  /** Notes that the checkpoint has a copy of this file at this path. */
  note(path: string, facts: Facts): void {
    if (!this.#isOurs(facts) || (this.#barrier !== undefined && isAfter(facts, this.#barrier))) return;
    const bytes = bytesFromPath(path);
    this.#length += bytes.length;
    this.#paths.push(bytes);
    this.#rows.push(facts.ino, ...facts.ctime, this.#length);
  }

  /** Writes the list. */
  save(checkpoint: Folder): void {
    const [count, rows] = [Float64Array.of(this.#paths.length), Float64Array.from(this.#rows)];
    writeWhole(
      POINTS.list,
      checkpoint,
      FILES,
      Buffer.concat([bytesOf(count), bytesOf(rows), ...this.#paths]),
    );
  }

  /** Gives the earlier copy of this file a second name, if that is possible. */
  #link(facts: Facts, to: Folder, name: string): boolean {
    const path = this.#isOurs(facts) ? this.#earlierFiles?.find(facts) : undefined;
    const folder = path === undefined ? undefined : this.#openEarlier(parentPath(path));
    if (path === undefined || folder === undefined) return false;
    // The copy may be gone, or have as many names as the file system allows.
    const isLinked = unlessFailed(["ENOENT", "EMLINK", "EPERM"], () => {
      to.createHardLink(POINTS.share, name, folder, baseName(path));
      return true;
    });
    return isLinked === true;
  }

  /** A file system that is mounted inside the tree has inode numbers of its own. */
  #isOurs({ kind, device }: Facts): boolean {
    return kind === "file" && device === this.#device;
  }

  #openEarlier(path: string): Folder | undefined {
    if (this.#open?.path === path) return this.#open.folder;
    this.#open?.folder.close();
    const folder = this.#earlier?.openBelowIfThere(path);
    this.#open = folder && { path, folder };
    return folder;
  }
}
