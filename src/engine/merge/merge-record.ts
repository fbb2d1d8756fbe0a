import type { Folder } from "../../system/calls/folder.ts";
import { digestOf } from "../../system/data/digest.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { TreeState } from "../checkpoint/tree-state.ts";
import { MOVES } from "../part/base-moves.ts";
import { removeTree } from "../tree/remove-tree.ts";
import { BASES } from "./base-contents.ts";

/**
 * What updates have left in a sandbox.
 *
 *   merges        JSON: `count` says how often the base has moved, `marked` which files got conflict markers
 *   ours/DIGEST   the plan's version of a marked file, as it was before; DIGEST is of its path
 *
 * A file counts as marked only while its markers are in it, so a restore or an edit needs no note here.
 */
interface MergeFile {
  readonly count: number;
  readonly marked: readonly string[];
}

const POINTS = {
  record: failpoint("merge.note"),
  folder: failpoint("merge.create-ours"),
  ours: failpoint("merge.keep-ours"),
  drop: failpoint("merge.drop"),
};
const MERGES = "merges";
const OURS = "ours";
const NONE: MergeFile = { count: 0, marked: [] };

export class MergeRecord {
  readonly #workspace: Folder;

  constructor(workspace: Folder) {
    this.#workspace = workspace;
  }

  /** How often the base has moved. A checkpoint from before a move is another state. */
  get count(): number {
    return this.#read().count;
  }

  /** The files that got conflict markers. */
  get marked(): readonly string[] {
    return this.#read().marked;
  }

  /** Records that the base has moved, and which files got markers by it. */
  note(marked: readonly string[] = []): void {
    const now = this.#read();
    const file: MergeFile = { count: now.count + 1, marked: [...new Set([...now.marked, ...marked])] };
    writeWhole(POINTS.record, this.#workspace, MERGES, Buffer.from(JSON.stringify(file)), "flushed");
  }

  /** Keeps the plan's version of a file that is about to get markers. */
  keepOurs(path: string, bytes: Uint8Array): void {
    using folder = this.#workspace.ensureFolder(POINTS.folder, OURS);
    writeWhole(POINTS.ours, folder, nameOf(path), bytes);
  }

  /** The plan's version of a file that got markers. */
  readOurs(path: string): Buffer | undefined {
    using folder = this.#workspace.openBelowIfThere(OURS);
    return folder === undefined ? undefined : readWhole(folder, nameOf(path));
  }

  #read(): MergeFile {
    const bytes = readWhole(this.#workspace, MERGES);
    return (bytes === undefined ? undefined : parsed<MergeFile>(bytes)) ?? NONE;
  }
}

/** Removes everything that updates left, with the tree that it belongs to. */
export function dropMerges(workspace: Folder): void {
  for (const name of [MERGES, OURS, BASES, MOVES]) removeTree(POINTS.drop, workspace, name);
}

/** Forgets all kept content, because a part of the work has landed or was taken back, and moved the base. */
export function dropBases(workspace: Folder): void {
  removeTree(POINTS.drop, workspace, BASES);
}

/** The state of a tree, told apart by how often its base has moved. */
export function withBaseMoves(workspace: Folder, state: TreeState): TreeState {
  const { count } = new MergeRecord(workspace);
  return count === 0 || state.mark === undefined ? state : { ...state, mark: `${state.mark}-${count}` };
}

function nameOf(path: string): string {
  return digestOf(path).slice(0, 32);
}
