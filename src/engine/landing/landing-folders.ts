import { ROOT_PATH } from "../../core/paths/byte-path.ts";
import { sameTime, type Time } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";
import { type Failpoint, failpoint } from "../../system/failpoints.ts";
import type { Direction } from "../manifest/manifest.ts";
import type { StoredManifest } from "../manifest/stored-manifest.ts";

const POINTS = {
  unlock: failpoint("land.unlock"),
  lock: failpoint("land.lock"),
  times: failpoint("land.times"),
};

/**
 * The folders of an original around a landing. Those without write permission for their owner are opened up
 * before it and closed after it; all touched folders then get their final times.
 */
export class LandingFolders {
  readonly #original: Folder;
  readonly #manifest: StoredManifest;
  readonly #direction: Direction;

  constructor(original: Folder, manifest: StoredManifest, direction: Direction) {
    this.#original = original;
    this.#manifest = manifest;
    this.#direction = direction;
  }

  open(): void {
    for (const { path, mode } of this.#manifest.unlock) this.#setMode(POINTS.unlock, path, mode | 0o700);
  }

  close(): void {
    for (const { path, before, after } of this.#manifest.entries.folderTimes(this.#direction))
      this.#setTime(path, this.#forward ? after : before);
    const modes = this.#changedModes();
    for (const { path, mode } of this.#manifest.unlock)
      this.#setMode(POINTS.lock, path, modes.get(path) ?? mode);
  }

  /** The modes that the landing itself gives to folders. */
  #changedModes(): ReadonlyMap<string, number> {
    const modes = new Map<string, number>();
    if (this.#manifest.unlock.length === 0) return modes;
    for (const { entry } of this.#manifest.entries.folderMetadata(this.#direction)) {
      const { path, metadata } = entry;
      if (metadata !== undefined) modes.set(path, (this.#forward ? metadata.after : metadata.before).mode);
    }
    return modes;
  }

  get #forward(): boolean {
    return this.#direction === "forward";
  }

  #setTime(path: string, mtime: Time): void {
    using folder = this.#original.openBelowIfThere(path);
    if (folder !== undefined && !sameTime(folder.ownFacts().mtime, mtime)) {
      folder.setTimes(POINTS.times, ROOT_PATH, { mtime });
    }
  }

  #setMode(point: Failpoint, path: string, mode: number): void {
    using folder = this.#original.openBelowIfThere(path);
    if (folder !== undefined && folder.ownFacts().mode !== mode) folder.setMode(point, ROOT_PATH, mode);
  }
}
