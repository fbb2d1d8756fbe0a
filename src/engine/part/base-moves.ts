import type { Folder } from "../../system/calls/folder.ts";
import { namesIn } from "../../system/data/existence.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { CopiedEntry } from "../tree/copy-tree.ts";

/**
 * The moves of a copied tree's base to what another writer made of the original. A checkpoint of such a tree
 * is a difference from its base; so a restore brings the base of these paths back too, or the tree would
 * land over the other writer's change.
 *
 * Each move is a file `moves/N` in the workspace, N counted from 1: JSON, written before the base moves. A
 * checkpoint notes the last number of its time. A restore is one more move, so the list only grows; it goes
 * when the tree is made anew.
 */
export interface MovedBase {
  readonly paths: readonly string[];
  /** The base entries at these paths before the move. A path without one had none. */
  readonly earlier: readonly CopiedEntry[];
  /** The same after it. */
  readonly later: readonly CopiedEntry[];
}

const POINTS = {
  folder: failpoint("merge.create-moves"),
  move: failpoint("merge.note-move"),
};
export const MOVES = "moves";

export class BaseMoves {
  readonly #workspace: Folder;

  constructor(workspace: Folder) {
    this.#workspace = workspace;
  }

  /** The number of the last move; 0 if there was none. */
  get last(): number {
    const numbers = namesIn(this.#workspace.label(MOVES)).filter((name) => /^\d+$/.test(name));
    return Math.max(0, ...numbers.map(Number));
  }

  add(move: MovedBase): void {
    using folder = this.#workspace.ensureFolder(POINTS.folder, MOVES);
    writeWhole(POINTS.move, folder, String(this.last + 1), Buffer.from(JSON.stringify(move)), "flushed");
  }

  /** The base entries after the move of this number, at all paths that have moved since. */
  at(number: number): Pick<MovedBase, "paths" | "later"> {
    const moves = this.#all();
    const paths = [...new Set(moves.slice(number).flatMap((move) => move.paths))];
    const later = paths.flatMap((path) => {
      const before = moves.slice(0, number).findLast((move) => move.paths.includes(path));
      const entries = before?.later ?? moves.find((move) => move.paths.includes(path))?.earlier ?? [];
      return entries.find((entry) => entry.path === path) ?? [];
    });
    return { paths, later };
  }

  #all(): readonly MovedBase[] {
    using folder = this.#workspace.openBelowIfThere(MOVES);
    if (folder === undefined) return [];
    return Array.from({ length: this.last }, (_, index) => {
      const bytes = readWhole(folder, String(index + 1));
      // A power cut can cut off only the last one, before the base moved.
      return (bytes && parsed<MovedBase>(bytes)) ?? { paths: [], earlier: [], later: [] };
    });
  }
}
