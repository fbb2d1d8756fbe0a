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
 * The door of a sandbox (closed-entries.ts): opens up entries of the workspace and the original that refuse
 * their owner, while the workspace is in use.
 *
 * - `opened-ID` in the workspace lists the entries that one process has opened up, one JSON line each. The
 *   process holds a lock on the file, creates it before it changes the first mode, and removes it after it
 *   has closed all entries again. A file without a lock belongs to a dead process; the next process that
 *   enters the workspace closes its entries. A line is flushed if its entry may be in the original or belongs
 *   to an undo record; everything else is not durable after a power cut anyway.
 * - `closed` in the workspace maps the change times that closing has caused to the earlier ones, the latest
 *   20,000.
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

/** All users of a workspace in one process share its door. */
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
      // We do not read files of the original that their owner may not read.
      { path: original, opens: "folders" },
    ];
  }

  /** Enters a workspace. Every call needs a later `leave`. */
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
    // No process may find the file under its final name without the lock.
    tryLock({ fd, path: fresh });
    this.#workspace.move(POINTS.create, fresh, this.#workspace, name);
    return { name, fd };
  }

  /** Removes our file, once every entry is closed again. */
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

  /** Saves the times, unless the workspace is gone. */
  #keepTimes(): void {
    if (this.#closed.length === 0 || this.#isGone()) return;
    const all = new Map([...this.#knownTimes(), ...this.#closed].map((times) => [times.key, times] as const));
    const latest = [...all.values()].slice(-MOST_TIMES);
    writeWhole(POINTS.times, this.#workspace, TIMES, Buffer.from(JSON.stringify(latest)));
  }

  #isGone(): boolean {
    return namesIfThere(this.#workspace) === undefined;
  }

  /**
   * Closes entries that dead processes left open, and notes the true facts of those that living processes
   * hold open.
   */
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

  /** Returns false if the entry has moved, perhaps into a landing, and may come back. */
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

  /** Only an entry that a landing took out of the sandbox comes back. */
  #isGoneForGood({ root }: ClosedEntry): boolean {
    return root !== this.#workspace.path || this.#workspace.facts("landings") === undefined;
  }

  #openRoot(root: string): Folder | undefined {
    if (root === this.#workspace.path) return this.#workspace.duplicate();
    return unlessFailed(["ENOENT", "ENOTDIR", "ELOOP"], () => Folder.open(root));
  }

  /**
   * The entries of a file, latest first. A truncated line was never acted on. Of several lines about one
   * entry, the latest that fits counts. An entry may lie in one that was opened earlier, so the inner one
   * must be closed first.
   */
  #entriesIn(name: string): readonly ClosedEntry[] {
    const lines = readWhole(this.#workspace, name)?.toString().split("\n") ?? [];
    return lines.flatMap((line) => parsed<ClosedEntry>(Buffer.from(line)) ?? []).reverse();
  }
}

function namesIfThere(folder: Folder): readonly string[] | undefined {
  return unlessFailed(["ENOENT"], () => folder.names());
}

/** An open workspace. Its door stays open until the workspace is closed. */
export class OpenWorkspace extends Folder {
  #door: SandboxDoor | undefined;

  /** Takes over the given folder. */
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
