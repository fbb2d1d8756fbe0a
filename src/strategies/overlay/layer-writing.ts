import { UsageError } from "../../core/errors/errors.ts";
import { baseName, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import {
  assertFile,
  type FileContent,
  type WrittenFile,
  writeFileBelow,
} from "../../engine/sandbox/writing.ts";
import { copyEntry } from "../../engine/tree/copy-tree.ts";
import { giveMetadata } from "../../engine/tree/metadata.ts";
import type { NamedEntry } from "../../engine/tree/named-entry.ts";
import { runAtOnce } from "../../engine/work/pace.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { readXattrs, writeXattrs, type Xattrs } from "../../system/calls/xattrs.ts";
import { failpoint } from "../../system/failpoints.ts";
import { randomBytes } from "../../system/random-bytes.ts";
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

/** A folder in both layers, or in the upper one alone. */
export interface LayerFolders {
  readonly upper: Folder;
  readonly lower?: Folder | undefined;
}

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
    return this.inFolder({ upper, lower }, path, (parents) => this.#file(parents, path, bytes));
  }

  /** Links a name of a file at a path that the lower layer has. The caller keeps the folder's time. */
  link(layers: LayerFolders, path: string, existing: NamedEntry): void {
    this.inFolder(layers, path, ({ upper, lower }) => {
      const name = baseName(path);
      const facts = lower?.facts(name);
      if (lower === undefined || facts === undefined || upper.facts(name) !== undefined) return;
      this.#record.note(path, { folder: lower, name }, facts);
      upper.createHardLink(POINTS.link, name, existing.folder, existing.name);
    });
  }

  /** Opens the parent folder of this path in both layers, and makes missing upper folders. */
  inFolder<T>(layers: LayerFolders, path: string, action: (parents: LayerFolders) => T): T {
    const parent = parentPath(path);
    if (parent === ROOT_PATH) return action(layers);
    return this.inFolder(layers, parent, ({ upper, lower }) => {
      const name = baseName(parent);
      this.#ensureFolder({ upper, lower }, parent);
      using folder = upper.openChild(name);
      using below = this.#marks.isOpaque(folder) ? undefined : lower?.openBelowIfThere(name);
      return action({ upper: folder, lower: below });
    });
  }

  #ensureFolder({ upper, lower }: LayerFolders, path: string): void {
    const name = baseName(path);
    const above = upper.facts(name);
    const below = lower?.facts(name);
    if (above === undefined && below?.kind === "directory" && lower !== undefined) {
      this.#note(path, { folder: lower, name }, below);
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
      giveMetadata(POINTS.metadata, { folder: this.#scratch, name: aside }, like, made);
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

  #file({ upper, lower }: LayerFolders, path: string, bytes: FileContent): WrittenFile {
    const name = baseName(path);
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
      this.#note(path, { folder: lower, name }, below);
      const aside = asideName();
      const copy = { folder: this.#scratch, name: aside };
      runAtOnce(copyEntry({ folder: lower, name }, copy, { data: "share" }));
      const { after } = writeFileBelow(this.#scratch, aside, bytes, this.#scratch);
      this.#place(upper, name, aside);
      return { before: below, after };
    }
    return writeFileBelow(upper, name, bytes, this.#scratch);
  }

  /** Notes the base of an entry that is about to be covered, if the lower layer has one at its path. */
  noteBelow(path: string, lower: Folder | undefined): void {
    const facts = lower?.facts(baseName(path));
    if (lower !== undefined && facts !== undefined)
      this.#note(path, { folder: lower, name: baseName(path) }, facts);
  }

  /** Notes the base before anything covers it: a covered entry without a note counts as new. */
  #note(path: string, entry: NamedEntry, facts: Facts): void {
    this.#record.note(path, entry, facts);
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
