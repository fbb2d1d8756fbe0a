import { nearest } from "../../core/paths/byte-path.ts";

/** The old and the new paths of what is in renamed folders. */
export class RenamedPaths {
  readonly #oldNames = new Map<string, string>();
  readonly #newNames = new Map<string, string>();

  constructor(folders: Iterable<{ readonly path: string; readonly renamedTo?: string | undefined }>) {
    for (const { path, renamedTo } of folders) {
      if (renamedTo === undefined) continue;
      this.#oldNames.set(renamedTo, path);
      this.#newNames.set(path, renamedTo);
    }
  }

  /** The new path of a folder that is renamed. */
  newPathOf(folder: string): string | undefined {
    return this.#newNames.get(folder);
  }

  /** The old path of a folder that is renamed to this path. */
  oldPathOf(folder: string): string | undefined {
    return this.#oldNames.get(folder);
  }

  /** The path before the renames of what is at this path after them. */
  before(path: string): string {
    return moved(this.#oldNames, path);
  }

  /** The path after the renames of what is at this path before them. */
  after(path: string): string {
    return moved(this.#newNames, path);
  }
}

function moved(names: ReadonlyMap<string, string>, path: string): string {
  const folder = names.size === 0 ? undefined : nearest(new Set(names.keys()), path);
  return folder === undefined ? path : `${names.get(folder)}${path.slice(folder.length)}`;
}
