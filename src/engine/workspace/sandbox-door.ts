import { baseName, parentPath } from "../../core/paths/byte-path.ts";
import {
  type ClosedEntry,
  type ClosedTimes,
  closeAfterCrash,
  closeDoor,
  type Door,
  openDoor,
  showForeign,
} from "../../system/calls/closed-entries.ts";
import { unlessFailed } from "../../system/calls/errno.ts";
import { Folder } from "../../system/calls/folder.ts";
import { closeFile } from "../../system/calls/handles.ts";
import { showAs } from "../../system/calls/shown-modes.ts";
import { writeBytes } from "../../system/data/file-data.ts";
import { flushFile, parsed, readWhole, writeWhole } from "../../system/data/whole-file.ts";
import { failpoint } from "../../system/failpoints.ts";
import { tryLock } from "../../system/state/lock.ts";
import { newId } from "../../system/state/new-id.ts";

/**
 * The door of a sandbox (closed-entries.ts): what is closed in its workspace and in its original is opened up
 * while the workspace is in use.
 *
 * What is open is noted in the workspace, a line of JSON for each, in a file of each process, `opened-ID`,
 * which that process holds locked: it is there before the first mode changes, and goes when all are given
 * back. One that nobody holds is of a dead process: the next one to come gives back what it says. A line is
 * flushed where the entry may be in the original or is kept for an undo; of the rest a power cut leaves
 * nothing to rely on.
 *
 * `closed` in the workspace has the change times that giving back has left, the latest only: they stand for
 * earlier ones.
 */
const POINTS = {
  create: failpoint("door.create"),
  note: failpoint("door.note"),
  flush: failpoint("door.flush"),
  times: failpoint("door.times"),
  remove: failpoint("door.remove"),
};
const TIMES = "closed";
const MOST_TIMES = 20_000;
const NOTE = /^opened-[0-9A-Z]{26}$/;

/** In one process all who use a workspace share its door. */
const inUse = new Map<string, SandboxDoor>();

class SandboxDoor implements Door {
  readonly roots: Door["roots"];
  readonly #workspace: Folder;
  readonly #closed: ClosedTimes[] = [];
  #file: { readonly name: string; readonly fd: number } | undefined;
  #users = 0;

  private constructor(workspace: Folder, original: string) {
    this.#workspace = workspace;
    this.roots = [
      { path: workspace.path, opens: "everything" },
      // A file of the original that its owner may not read is not read by us either.
      { path: original, opens: "folders" },
    ];
  }

  /** Enters a workspace; who enters also leaves. */
  static enter(workspace: Folder, original: string): SandboxDoor {
    const known = inUse.get(workspace.path);
    const door = known ?? new SandboxDoor(workspace.duplicate(), original);
    door.#users += 1;
    if (known === undefined) {
      inUse.set(workspace.path, door);
      openDoor(door);
      for (const { key, ...times } of door.#knownTimes()) showAs(key, times);
      door.#settleOthers();
    }
    return door;
  }

  leave(): void {
    this.#users -= 1;
    if (this.#users > 0) return;
    inUse.delete(this.#workspace.path);
    try {
      this.#settleOthers();
    } finally {
      this.#close();
    }
  }

  #close(): void {
    try {
      closeDoor(this);
      this.#keepTimes();
      this.#forget();
    } finally {
      this.#workspace.close();
    }
  }

  note(entry: ClosedEntry): void {
    this.#file ??= this.#make();
    writeBytes(POINTS.note, this.#file.fd, Buffer.from(`${JSON.stringify(entry)}\n`), this.#file.name);
    const mayStay = entry.root !== this.#workspace.path || entry.path.startsWith("landings/");
    if (mayStay) flushFile(POINTS.flush, this.#file.fd);
  }

  closed(times: ClosedTimes): void {
    this.#closed.push(times);
  }

  #make(): { readonly name: string; readonly fd: number } {
    const name = `opened-${newId()}`;
    const fresh = `${name}.new`;
    const fd = this.#workspace.createFile(POINTS.create, fresh, 0o600);
    // Nobody is to find it under its name without the lock.
    tryLock({ fd, path: fresh });
    this.#workspace.move(POINTS.create, fresh, this.#workspace, name);
    return { name, fd };
  }

  /** Without anything left to give back. */
  #forget(): void {
    if (this.#file === undefined) return;
    const { name, fd } = this.#file;
    this.#file = undefined;
    if (this.#workspace.facts(name) !== undefined) this.#workspace.removeFile(POINTS.remove, name);
    closeFile(fd);
  }

  #knownTimes(): readonly ClosedTimes[] {
    const bytes = readWhole(this.#workspace, TIMES);
    return bytes === undefined ? [] : (parsed<readonly ClosedTimes[]>(bytes) ?? []);
  }

  /** Nobody needs them any more once the workspace is gone. */
  #keepTimes(): void {
    if (this.#closed.length === 0 || this.#isGone()) return;
    const all = new Map([...this.#knownTimes(), ...this.#closed].map((times) => [times.key, times] as const));
    const latest = [...all.values()].slice(-MOST_TIMES);
    writeWhole(POINTS.times, this.#workspace, TIMES, Buffer.from(JSON.stringify(latest)));
  }

  #isGone(): boolean {
    return namesIfThere(this.#workspace) === undefined;
  }

  /** Gives back what dead processes left open, and takes note of what living ones have. */
  #settleOthers(): void {
    const notes = namesIfThere(this.#workspace)?.filter(
      (name) => NOTE.test(name) && name !== this.#file?.name,
    );
    for (const name of notes ?? []) {
      const fd = this.#workspace.openFile(name);
      try {
        const isDead = tryLock({ fd, path: name });
        const settled = this.#entriesIn(name).map((entry) => this.#settle(entry, isDead));
        if (isDead && settled.every(Boolean)) this.#workspace.removeFile(POINTS.remove, name);
      } finally {
        closeFile(fd);
      }
    }
  }

  /**
   * False if it is not where it was: taken out to land, perhaps. Then it is looked for again when it may be
   * back.
   */
  #settle(entry: ClosedEntry, isDead: boolean): boolean {
    using root = this.#openRoot(entry.root);
    using parent = root?.openBelowIfThere(parentPath(entry.path));
    const name = baseName(entry.path);
    if (parent === undefined || parent.facts(name)?.ino !== entry.ino) return this.#isGoneForGood(entry);
    const handle = parent.openHandle(name);
    try {
      if (isDead) closeAfterCrash(this, entry, handle);
      else showForeign(entry, handle);
      return true;
    } finally {
      closeFile(handle);
    }
  }

  /** Only what a landing has taken out of the sandbox comes back. */
  #isGoneForGood({ root }: ClosedEntry): boolean {
    return root !== this.#workspace.path || this.#workspace.facts("landings") === undefined;
  }

  #openRoot(root: string): Folder | undefined {
    if (root === this.#workspace.path) return this.#workspace.duplicate();
    return unlessFailed(["ENOENT", "ENOTDIR", "ELOOP"], () => Folder.open(root));
  }

  /**
   * A line that was cut off was never acted on. What was noted last comes first: of several lines about one
   * entry the latest that fits counts, and an entry may be in one that was opened before, which lets nobody
   * in once it is closed.
   */
  #entriesIn(name: string): readonly ClosedEntry[] {
    const lines = readWhole(this.#workspace, name)?.toString().split("\n") ?? [];
    return lines.flatMap((line) => parsed<ClosedEntry>(Buffer.from(line)) ?? []).reverse();
  }
}

function namesIfThere(folder: Folder): readonly string[] | undefined {
  return unlessFailed(["ENOENT"], () => folder.names());
}

/** An open workspace whose door is open as long as it is. */
export class OpenWorkspace extends Folder {
  #door: SandboxDoor | undefined;

  /** Takes the place of the folder that is given. */
  constructor(workspace: Folder, original: string) {
    super(workspace.fd, workspace.path);
    this.#door = SandboxDoor.enter(workspace, original);
  }

  override close(): void {
    const door = this.#door;
    this.#door = undefined;
    try {
      door?.leave();
    } finally {
      super.close();
    }
  }
}
