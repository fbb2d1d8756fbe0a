import { parentPath } from "../../core/paths/byte-path.ts";
import { type Facts, type Identity, sameIdentity, sameTime, type Time } from "../../system/calls/facts.ts";
import { Folder } from "../../system/calls/folder.ts";
import { namesIn } from "../../system/data/existence.ts";
import { shortDigest } from "../../system/data/short-digest.ts";
import { parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { unlessGone } from "../tree/remove-tree.ts";
import { isAfter } from "./barrier.ts";
import type { BaseFacts } from "./base-facts.ts";

/**
 * The ledger of our own touches of an original: the change times that our landings and undos gave to its
 * entries. A later change by another writer gives the entry another one. The ledger is asked through an
 * `Age`.
 *
 * Each touch is { ino, btime, ctime, was? }. It counts for different readers, and so it has two files:
 *
 *   restored/HASH-OF-THE-PATH in the state directory, for every plan on the original: what an undo brought
 *     back. The entry is what it was before, so our change time stands for the earlier one, `was`. The latest
 *     20,000 touches. It exists only while a plan on that original is open or can be undone
 *     (sandboxes/remains/restored-remains.ts).
 *   left in the workspace, for this sandbox alone: what its landed parts left in the original. To the rest of
 *     its work these entries are as old as the base, at any barrier, so there is no `was`; other sandboxes
 *     see the real time. The file grows with the entries that have landed, and goes with the sandbox.
 *
 * An undo brings entries of earlier landings back, so all touches of an inode stay.
 *
 * One file for both would be shared by plans that land at the same time in single files of one folder, and
 * every plan would read what another one landed. Both files have the names and the format of Drydock 0.1.0.
 */
interface Touch extends Identity {
  readonly ctime: Time;
  /** The change time before our landing moved the entry out. */
  readonly was?: Time;
}

/** A path of a landing that was undone, and the entry that was there before the landing. */
export interface RestoredPath {
  readonly path: string;
  readonly before?: (Identity & { readonly ctime: Time }) | undefined;
}

const POINTS = {
  folder: failpoint("restored.create-folder"),
  restored: failpoint("restored.write"),
  left: failpoint("left.write"),
  remove: failpoint("restored.remove"),
};
const RESTORED = "restored";
const NAME = /^([0-9a-f]{32})(?:[.]new)?$/;
const MOST = 20_000;
const LEFT = "left";

/** Touches in memory, by inode. */
export class TouchTable {
  readonly #touches: Map<number, readonly Touch[]>;

  constructor(touches: readonly Touch[] = []) {
    this.#touches = Map.groupBy(touches, ({ ino }) => ino);
  }

  /** The touch that gave an entry its present change time. */
  find(facts: Identity & { readonly ctime: Time }): Touch | undefined {
    return this.#touches
      .get(facts.ino)
      ?.find((touch) => sameIdentity(facts, touch) && sameTime(facts.ctime, touch.ctime));
  }

  /** Returns false if the touch is known. */
  add({ ino, btime, ctime, was }: Touch): boolean {
    if (this.find({ ino, btime, ctime }) !== undefined) return false;
    const known = this.#touches.get(ino) ?? [];
    // The inode that was touched last is the last one.
    this.#touches.delete(ino);
    this.#touches.set(ino, [...known, { ino, btime, ctime, ...(was !== undefined && { was }) }]);
    return true;
  }

  all(): readonly Touch[] {
    return [...this.#touches.values()].flat();
  }
}

export class OwnTouches {
  readonly #stateDir: string;
  readonly #root: string;
  readonly #workspace: Folder;
  #restored: TouchTable | undefined;
  #landed: TouchTable | undefined;

  constructor(stateDir: string, root: string, workspace: Folder) {
    this.#stateDir = stateDir;
    this.#root = root;
    this.#workspace = workspace;
  }

  /** The age of entries to the sandbox in this workspace, which knows its own landed parts. */
  since(barrier: Time): Age {
    return new Age(barrier, ({ ino, btime, ...facts }) => {
      const ctime = this.#before({ ino, btime, ctime: facts.ctime });
      return !isAfter({ ctime }, barrier) || this.#landedTable().find({ ino, btime, ctime }) !== undefined;
    });
  }

  /** The age of entries to every plan: only what an undo brought back is older than it looks. */
  sinceForAll(barrier: Time): Age {
    return new Age(barrier, (facts) => !isAfter({ ctime: this.#before(facts) }, barrier));
  }

  /** Records the change times that entries of a landed part have now. */
  noteLanded(facts: Iterable<Facts>): void {
    const table = this.#landedTable();
    let isChanged = false;
    for (const { ino, btime, ctime } of facts) isChanged = table.add({ ino, btime, ctime }) || isChanged;
    if (!isChanged) return;
    writeWhole(POINTS.left, this.#workspace, LEFT, Buffer.from(JSON.stringify(table.all())), "flushed");
  }

  /** Records the change times of the entries that an undo has put back. */
  noteRestored(original: Folder, paths: Iterable<RestoredPath>): void {
    const table = this.#restoredTable();
    let isChanged = false;
    for (const { path, before } of paths) {
      const now = original.factsBelow(path);
      if (now === undefined || before === undefined || !sameIdentity(now, before)) continue;
      const { ino, btime, ctime } = now;
      isChanged = table.add({ ino, btime, ctime, was: this.#before(before) }) || isChanged;
    }
    if (!isChanged) return;
    using folder = this.#openFolder();
    const latest = table.all().slice(-MOST);
    writeWhole(POINTS.restored, folder, nameOf(this.#root), Buffer.from(JSON.stringify(latest)));
  }

  /** The change time that an entry had before our own landings and undos. */
  #before(facts: Identity & { readonly ctime: Time }): Time {
    return this.#restoredTable().find(facts)?.was ?? facts.ctime;
  }

  #restoredTable(): TouchTable {
    if (this.#restored === undefined) {
      using folder = this.#openFolder();
      this.#restored = readTable(folder, nameOf(this.#root));
    }
    return this.#restored;
  }

  #landedTable(): TouchTable {
    this.#landed ??= readTable(this.#workspace, LEFT);
    return this.#landed;
  }

  #openFolder(): Folder {
    using state = Folder.open(this.#stateDir);
    return state.ensureFolder(POINTS.folder, RESTORED);
  }
}

function readTable(folder: Folder, name: string): TouchTable {
  const bytes = readWhole(folder, name);
  return new TouchTable(bytes === undefined ? [] : parsed<readonly Touch[]>(bytes));
}

function nameOf(root: string): string {
  return shortDigest(root).slice(0, 32);
}

/** The names of all files about what undos brought back. */
export function restoredNames(stateDir: string): readonly string[] {
  return [...new Set(namesIn(`${stateDir}/${RESTORED}`).flatMap((name) => NAME.exec(name)?.[1] ?? []))];
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
  using folder = state.openBelowIfThere(RESTORED);
  for (const file of [name, `${name}.new`])
    if (folder?.facts(file) !== undefined) unlessGone(() => folder.removeFile(POINTS.remove, file));
}

/** The path of the file of this name. */
export function restoredPath(stateDir: string, name: string): string {
  return `${stateDir}/${RESTORED}/${name}`;
}

/** How old entries of an original are: whether another writer changed them at or after a barrier. */
export class Age {
  readonly barrier: Time;
  readonly #isOurs: (facts: Facts) => boolean;

  /** `isOurs` says whether a change time at or after the barrier comes from our own work (own-touches.ts). */
  constructor(barrier: Time, isOurs: (facts: Facts) => boolean) {
    this.barrier = barrier;
    this.#isOurs = isOurs;
  }

  /** Whether another writer changed an entry since the barrier. Only younger entries need a lookup. */
  isSince(now: Facts): boolean {
    return isAfter(now, this.barrier) && !this.#isOurs(now);
  }

  /** Whether an entry of the original is still the base that the sandbox was made from. */
  isStillBase(now: Facts | undefined, base: BaseFacts): boolean {
    if (now === undefined || !sameIdentity(now, base)) return false;
    // A folder's change time also moves when another writer adds a name, which does not change the folder
    // itself.
    if (base.kind === "directory")
      return now.mode === base.mode && now.uid === base.uid && now.gid === base.gid;
    return !this.isSince(now) || (base.ctime !== undefined && sameTime(now.ctime, base.ctime));
  }
}
