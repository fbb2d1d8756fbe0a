import { randomBytes } from "node:crypto";
import { UsageError } from "../../core/errors/errors.ts";
import { baseName, joinPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import {
  assertFile,
  type FileContent,
  type WrittenFile,
  writeFileBelow,
} from "../../engine/sandbox/writing.ts";
import { copyEntry } from "../../engine/tree/copy-tree.ts";
import { giveMetadata } from "../../engine/tree/metadata.ts";
import { runAtOnce } from "../../engine/work/pace.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs, writeXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { BaseRecord } from "./base-record.ts";
import type { LayerMarks } from "./layer-marks.ts";

const POINTS = {
  folder: failpoint("overlay.create-folder"),
  mark: failpoint("overlay.mark-folder"),
  metadata: failpoint("overlay.copy-up-metadata"),
  place: failpoint("overlay.place"),
  link: failpoint("overlay.link-name"),
  whiteout: failpoint("overlay.remove-whiteout"),
};

/** Writes to the upper layer while nothing is mounted, as the kernel would through a mount. */
export class LayerWriter {
  readonly #marks: LayerMarks;
  readonly #record: BaseRecord;
  /**
   * The workspace: a folder on the same mount without user data. Unfinished entries are made here, and it
   * holds the base record.
   */
  readonly #scratch: Folder;

  constructor(marks: LayerMarks, record: BaseRecord, scratch: Folder) {
    this.#marks = marks;
    this.#record = record;
    this.#scratch = scratch;
  }

  /** Writes one file, and makes the folders above it. */
  write(upper: Folder, lower: Folder, path: string, bytes: FileContent): WrittenFile {
    if (path === ROOT_PATH) return writeFileBelow(upper, path, bytes, this.#scratch);
    return this.inFolder(upper, lower, path, (folder, below) =>
      this.#file(folder, below, path, baseName(path), bytes),
    );
  }

  /** Links a name of a file at a path that the lower layer has. The caller keeps the folder's time. */
  link(upper: Folder, lower: Folder, path: string, from: Folder, existing: string): void {
    this.inFolder(upper, lower, path, (folder, below) => {
      const name = baseName(path);
      const facts = below?.facts(name);
      if (below === undefined || facts === undefined || folder.facts(name) !== undefined) return;
      this.#record.note(path, below, name, facts);
      folder.createHardLink(POINTS.link, name, from, existing);
    });
  }

  /** Opens the parent folder of this path in both layers, and makes missing upper folders. */
  inFolder<T>(upper: Folder, lower: Folder, path: string, action: (upper: Folder, lower?: Folder) => T): T {
    const steps = parentPath(path) === ROOT_PATH ? [] : parentPath(path).split("/");
    return this.#step(upper, lower, ROOT_PATH, steps, action);
  }

  #step<T>(
    upper: Folder,
    lower: Folder | undefined,
    at: string,
    steps: readonly string[],
    action: (upper: Folder, lower?: Folder) => T,
  ): T {
    const [step, ...rest] = steps;
    if (step === undefined) return action(upper, lower);
    const path = joinPath(at, step);
    this.#ensureFolder(upper, lower, step, path);
    using folder = upper.openChild(step);
    using below = this.#marks.isOpaque(folder) ? undefined : lower?.openBelowIfThere(step);
    return this.#step(folder, below, path, rest, action);
  }

  #ensureFolder(upper: Folder, lower: Folder | undefined, name: string, path: string): void {
    const above = upper.facts(name);
    const below = lower?.facts(name);
    if (above === undefined && below?.kind === "directory" && lower !== undefined) {
      this.#note(path, lower, name, below);
      const { mtime, atime } = upper.ownFacts();
      this.#placeFolder(upper, name, this.#marks.copiedUp, { facts: below, xattrs: readXattrs(lower, name) });
      // Programs must not notice that a folder was copied up.
      upper.setTimes(POINTS.metadata, ROOT_PATH, { mtime, atime });
    } else if (above === undefined && below === undefined) this.#placeFolder(upper, name, this.#marks.made);
    else if (above !== undefined && this.#marks.isMark(upper, name, above))
      this.#placeFolder(upper, name, this.#marks.opaque);
    else if ((above ?? below)?.kind !== "directory") throw notAFolder(path, above ?? below);
  }

  /**
   * Makes the folder aside and moves it into place when it is complete. A whiteout in its place is removed.
   */
  #placeFolder(
    upper: Folder,
    name: string,
    marks: Xattrs,
    like?: { readonly facts: Facts; readonly xattrs: Xattrs },
  ): void {
    const aside = asideName();
    this.#scratch.createFolder(POINTS.folder, aside, 0o777 & ~process.umask());
    writeXattrs(POINTS.mark, this.#scratch, aside, marks, {});
    if (like !== undefined) {
      const made = this.#scratch.facts(aside) as Facts;
      giveMetadata(POINTS.metadata, this.#scratch, aside, like.facts, like.xattrs, made);
    }
    this.#place(upper, name, aside);
  }

  #place(upper: Folder, name: string, aside: string): void {
    if (upper.facts(name) === undefined) {
      this.#scratch.move(POINTS.place, aside, upper, name);
      return;
    }
    this.#scratch.exchange(POINTS.place, aside, upper, name);
    this.#scratch.removeFile(POINTS.whiteout, aside);
  }

  #file(
    upper: Folder,
    lower: Folder | undefined,
    path: string,
    name: string,
    bytes: FileContent,
  ): WrittenFile {
    const above = upper.facts(name);
    if (above !== undefined && this.#marks.isMark(upper, name, above)) {
      const aside = asideName();
      const { after } = writeFileBelow(this.#scratch, aside, bytes, this.#scratch);
      this.#place(upper, name, aside);
      return { before: undefined, after };
    }
    const below = above === undefined ? lower?.facts(name) : undefined;
    if (lower !== undefined && below !== undefined) {
      assertFile(path, below);
      this.#note(path, lower, name, below);
      const aside = asideName();
      runAtOnce(copyEntry(lower, name, this.#scratch, aside, { data: "share" }));
      const { after } = writeFileBelow(this.#scratch, aside, bytes, this.#scratch);
      this.#place(upper, name, aside);
      return { before: below, after };
    }
    return writeFileBelow(upper, name, bytes, this.#scratch);
  }

  /** Notes the base before anything covers it: a covered entry without a note counts as new. */
  #note(path: string, lower: Folder, name: string, facts: Facts): void {
    this.#record.note(path, lower, name, facts);
    this.#record.saveIfChanged(this.#scratch);
  }
}

/** A new name for an entry in the workspace. */
export function asideName(): string {
  return `aside-${randomBytes(8).toString("hex")}`;
}

function notAFolder(path: string, facts: Facts | undefined): UsageError {
  return new UsageError(`${path} is a ${facts?.kind}, not a folder.`, {
    hint: "Choose another path.",
    code: "BAD_PATH",
  });
}
