import { Folder } from "./folder.ts";

const MOST_CACHED = 128;

/**
 * An open folder that caches the folders opened below it, for a caller that returns to the same ones often.
 * The caller gets the very same folder each time, even if another process moves it meanwhile. Closing the
 * cache closes all of them.
 */
export class FolderCache extends Folder {
  readonly #cached = new Map<string, CachedFolder>();

  /** Takes over the given folder; do not use or close that one afterwards. */
  constructor(folder: Folder) {
    super(folder.fd, folder.path);
  }

  override openBelow(path: string): Folder {
    const cached = this.#cached.get(path);
    if (cached !== undefined) return cached;
    const opened = super.openBelow(path);
    if (this.#cached.size >= MOST_CACHED) return opened;
    const fresh = new CachedFolder(opened.fd, opened.path);
    this.#cached.set(path, fresh);
    return fresh;
  }

  override openChild(name: string): Folder {
    return this.openBelow(name);
  }

  override close(): void {
    for (const folder of this.#cached.values()) folder.release();
    this.#cached.clear();
    super.close();
  }
}

/** Callers close it like any other folder, without effect; the cache releases it. */
class CachedFolder extends Folder {
  override close(): void {
    // The cache still has it open.
  }

  release(): void {
    super.close();
  }
}
