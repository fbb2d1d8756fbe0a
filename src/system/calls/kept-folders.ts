import { Folder } from "./folder.ts";

const MOST_KEPT = 128;

/**
 * An open folder that keeps those below it open that were asked for: for who comes back to the same ones time
 * and again in a moment, and is to find the very same ones each time, whoever moves them meanwhile. All are
 * closed with it.
 */
export class KeptFolders extends Folder {
  readonly #kept = new Map<string, KeptFolder>();

  /** Takes the place of the folder that is given. */
  constructor(folder: Folder) {
    super(folder.fd, folder.path);
  }

  override openBelow(path: string): Folder {
    const kept = this.#kept.get(path);
    if (kept !== undefined) return kept;
    const opened = super.openBelow(path);
    if (this.#kept.size >= MOST_KEPT) return opened;
    const keeping = new KeptFolder(opened.fd, opened.path);
    this.#kept.set(path, keeping);
    return keeping;
  }

  override openChild(name: string): Folder {
    return this.openBelow(name);
  }

  override close(): void {
    for (const folder of this.#kept.values()) folder.release();
    this.#kept.clear();
    super.close();
  }
}

/** Who was lent it may close it as any other. */
class KeptFolder extends Folder {
  override close(): void {
    // It is still kept.
  }

  release(): void {
    super.close();
  }
}
