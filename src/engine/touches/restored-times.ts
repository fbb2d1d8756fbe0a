import { parentPath } from "../../core/paths/byte-path.ts";
import { type Facts, sameIdentity, sameTime, type Time } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { digestOf } from "../../system/data/digest.ts";
import { namesIn } from "../../system/data/existence.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import type { EntryIdentity } from "../manifest/manifest.ts";
import { unlessGone } from "../tree/remove-tree.ts";

/**
 * The change times of entries that an undo has restored. A restored entry is what it was before, but its
 * change time has moved. This record maps our new change time to the earlier one, so that other plans do not
 * take the landing and its undo for another writer's change.
 *
 * It is the file `restored/HASH-OF-THE-PATH` in the state directory, one for each original: JSON, a list of {
 * ino, btime, ctime, was }, the latest 20,000 entries. It exists only while a plan on that original is open
 * or can be undone (sandboxes/remains/restored-remains.ts).
 */
interface Restored {
  readonly ino: number;
  readonly btime: Time;
  readonly ctime: Time;
  /** The change time before the landing moved the entry out. */
  readonly was: Time;
}

/** A path of a landing that was undone, and the entry that was there before the landing. */
export interface RestoredPath {
  readonly path: string;
  readonly before?: EntryIdentity | undefined;
}

const POINTS = {
  folder: failpoint("restored.create-folder"),
  write: failpoint("restored.write"),
  remove: failpoint("restored.remove"),
};
const FOLDER = "restored";
const NAME = /^([0-9a-f]{32})(?:[.]new)?$/;
const MOST = 20_000;

export class RestoredTimes {
  readonly #stateDir: string;
  readonly #name: string;
  #known: ReadonlyMap<number, Restored> | undefined;

  constructor(stateDir: string, root: string) {
    this.#stateDir = stateDir;
    this.#name = nameOf(root);
  }

  /**
   * The facts of an entry, with the change time from before our own landing and undo, where those moved it.
   */
  asBefore = (facts: Facts): Facts => {
    const restored = this.#load().get(facts.ino);
    const isOurs =
      restored !== undefined && sameIdentity(facts, restored) && sameTime(facts.ctime, restored.ctime);
    return isOurs ? { ...facts, ctime: restored.was } : facts;
  };

  /** Remembers the change times of the entries that an undo has put back. */
  remember(original: Folder, paths: Iterable<RestoredPath>): void {
    const fresh: Restored[] = [];
    for (const { path, before } of paths) {
      const now = original.factsBelow(path);
      if (now === undefined || before === undefined || !sameIdentity(now, before)) continue;
      fresh.push({
        ino: now.ino,
        btime: now.btime,
        ctime: now.ctime,
        was: this.asBefore({ ...now, ctime: before.ctime }).ctime,
      });
    }
    if (fresh.length === 0) return;
    const all = new Map([...this.#load(), ...fresh.map((item) => [item.ino, item] as const)]);
    this.#known = new Map([...all].slice(-MOST));
    using folder = this.#openFolder();
    writeWhole(POINTS.write, folder, this.#name, Buffer.from(JSON.stringify([...this.#known.values()])));
  }

  #load(): ReadonlyMap<number, Restored> {
    if (this.#known === undefined) {
      using folder = this.#openFolder();
      const bytes = readWhole(folder, this.#name);
      const items = bytes === undefined ? [] : (parsed<readonly Restored[]>(bytes) ?? []);
      this.#known = new Map(items.map((item) => [item.ino, item]));
    }
    return this.#known;
  }

  #openFolder(): Folder {
    using state = Folder.open(this.#stateDir);
    return state.ensureFolder(POINTS.folder, FOLDER);
  }
}

function nameOf(root: string): string {
  return digestOf(root).slice(0, 32);
}

/** The names of all such files. */
export function restoredNames(stateDir: string): readonly string[] {
  return [...new Set(namesIn(`${stateDir}/${FOLDER}`).flatMap((name) => NAME.exec(name)?.[1] ?? []))];
}

/**
 * The names of the files that may belong to the original of a resource: by its own path or, for a single
 * file, by the path of its folder.
 */
export function restoredNamesOf(location: string): readonly string[] {
  return [nameOf(location), nameOf(parentPath(location))];
}

/** Removes the file of this name, and the unfinished one that a crash may have left. */
export function forgetRestored(stateDir: string, name: string): void {
  using state = Folder.open(stateDir);
  using folder = state.openBelowIfThere(FOLDER);
  for (const file of [name, `${name}.new`])
    if (folder?.facts(file) !== undefined) unlessGone(() => folder.removeFile(POINTS.remove, file));
}

/** The path of the file of this name. */
export function restoredPath(stateDir: string, name: string): string {
  return `${stateDir}/${FOLDER}/${name}`;
}
