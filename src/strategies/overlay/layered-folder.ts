import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import type { Facts } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import type { LayerMarks } from "./layer-marks.ts";

/**
 * One folder as programs see it: the upper layer's entries over the lower layer's entries that the upper one
 * does not hide.
 */
export class LayeredFolder {
  readonly upper: Folder | undefined;
  readonly lower: Folder | undefined;
  readonly #marks: LayerMarks;

  constructor(upper: Folder | undefined, lower: Folder | undefined, marks: LayerMarks) {
    this.upper = upper;
    this.lower = lower;
    this.#marks = marks;
  }

  /** Opens the folder at this path, or returns undefined if there is none. */
  static openBelow(upper: Folder, lower: Folder, marks: LayerMarks, path: string): LayeredFolder | undefined {
    let folder: LayeredFolder | undefined = new LayeredFolder(upper.duplicate(), lower.duplicate(), marks);
    if (path === ROOT_PATH) return folder;
    for (const name of path.split("/")) {
      using above: LayeredFolder | undefined = folder;
      folder = above?.open(name);
    }
    return folder;
  }

  /** The layer that shows a name, if either does. */
  find(name: string): { readonly folder: Folder; readonly facts: Facts } | undefined {
    const above = this.upper?.facts(name);
    if (this.upper !== undefined && above !== undefined)
      return this.#marks.isMark(this.upper, name, above) ? undefined : { folder: this.upper, facts: above };
    const below = this.#hidesByName(name) ? undefined : this.lower?.facts(name);
    return this.lower === undefined || below === undefined ? undefined : { folder: this.lower, facts: below };
  }

  /** Opens a folder directly in this one, or returns undefined if there is none. */
  open(name: string): LayeredFolder | undefined {
    const found = this.find(name);
    if (found?.facts.kind !== "directory") return undefined;
    if (found.folder !== this.upper)
      return new LayeredFolder(undefined, found.folder.openChild(name), this.#marks);
    const upper = found.folder.openChild(name);
    const lower = this.#marks.isOpaque(upper) ? undefined : this.lower?.openBelowIfThere(name);
    return new LayeredFolder(upper, lower, this.#marks);
  }

  #hidesByName(name: string): boolean {
    return this.#marks.whitenedName(`.wh.${name}`) === name && this.upper?.facts(`.wh.${name}`) !== undefined;
  }

  [Symbol.dispose](): void {
    this.upper?.close();
    this.lower?.close();
  }
}
