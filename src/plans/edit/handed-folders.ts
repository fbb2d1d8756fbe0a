import { baseName, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { removeTree } from "../../engine/tree/remove-tree.ts";
import { walkBelow } from "../../engine/tree/walk.ts";
import { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { isThere } from "../../system/data/existence.ts";
import { readBytes, writeBytes } from "../../system/data/file-data.ts";
import { realPathOf } from "../../system/data/locations.ts";
import { failpoint } from "../../system/failpoints.ts";
import { ensureStateFolder } from "../../system/state/state-folder.ts";

const POINTS = {
  place: failpoint("edit.place"),
  make: failpoint("edit.make"),
  write: failpoint("edit.write"),
  remove: failpoint("edit.remove"),
};
const NAME = /^edit-(\d+)$/;
const READ_ONLY = 0o400;
const WRITABLE = 0o600;

/**
 * Two folders of the state directory that a diff editor gets: `before` and `after`. They hold copies, and no
 * links: an editor would follow those out of them. Disposing of this removes both; those that a dead process
 * left are removed by the next one.
 */
export class HandedFolders implements Disposable {
  readonly before: string;
  readonly after: string;
  readonly #place: Folder;
  readonly #name = `edit-${process.pid}`;
  readonly #sides: { readonly before: Folder; readonly after: Folder };

  constructor(place: string) {
    ensureStateFolder(POINTS.place, place);
    this.#place = Folder.open(realPathOf(place) ?? place);
    for (const name of this.#place.names()) {
      const pid = NAME.exec(name)?.[1];
      if (pid === undefined || (name !== this.#name && isThere(`/proc/${pid}`))) continue;
      removeTree(POINTS.remove, this.#place, name);
    }
    using own = this.#place.ensureFolder(POINTS.make, this.#name);
    this.#sides = {
      before: own.ensureFolder(POINTS.make, "before"),
      after: own.ensureFolder(POINTS.make, "after"),
    };
    this.before = `${this.#place.path}/${this.#name}/before`;
    this.after = `${this.#place.path}/${this.#name}/after`;
  }

  /** Puts a copy there. */
  put(side: "before" | "after", path: string, content: Uint8Array): void {
    using folder = this.#ensure(side, parentPath(path));
    const name = baseName(path);
    const fd = folder.createFile(POINTS.write, name, side === "before" ? READ_ONLY : WRITABLE);
    try {
      writeBytes(POINTS.write, fd, content, folder.label(name));
    } finally {
      closeFile(fd);
    }
  }

  /** Puts an empty folder there. */
  putFolder(side: "before" | "after", path: string): void {
    this.#ensure(side, path).close();
  }

  /** What is there now in `after`: the content of a file, `folder`, `other`, or nothing. */
  returned(path: string): Buffer | "folder" | "other" | undefined {
    using folder = this.#sides.after.openBelowIfThere(parentPath(path));
    const kind = folder?.facts(baseName(path))?.kind;
    if (folder === undefined || kind === undefined) return undefined;
    if (kind !== "file") return kind === "directory" ? "folder" : "other";
    const fd = folder.openFile(baseName(path));
    try {
      return readBytes(fd, folder.label(baseName(path)));
    } finally {
      closeFile(fd);
    }
  }

  /** Every path in `after` that is no folder. */
  *returnedPaths(): Generator<string> {
    for (const { path, facts } of walkBelow(this.#sides.after)) if (facts.kind !== "directory") yield path;
  }

  [Symbol.dispose](): void {
    this.#sides.before.close();
    this.#sides.after.close();
    removeTree(POINTS.remove, this.#place, this.#name);
    this.#place.close();
  }

  #ensure(side: "before" | "after", path: string): Folder {
    let folder = this.#sides[side].duplicate();
    if (path === ROOT_PATH) return folder;
    for (const name of path.split("/")) {
      using parent = folder;
      folder = parent.ensureFolder(POINTS.make, name);
    }
    return folder;
  }
}
