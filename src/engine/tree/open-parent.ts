import { parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type Identity, identityOf, sameIdentity } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";

/**
 * Opens the folders that paths are in. Entries come in path order, so the folder they are in is mostly the
 * one just used.
 */
export class OpenParent {
  readonly #root: Folder;
  #path: string | undefined;
  #folder: Folder | undefined;
  #identity: Identity | undefined;

  constructor(root: Folder) {
    this.#root = root;
  }

  /**
   * The folder that holds this path; undefined if it is gone. The root's is the root. Valid until the next
   * call.
   */
  of(path: string): Folder | undefined {
    const folderPath = parentPath(path);
    if (this.#path !== folderPath) this.#keep(folderPath, this.#root.openBelowIfThere(folderPath));
    return this.#folder;
  }

  /** The same, and an error if it is gone. */
  need(path: string): Folder {
    const folderPath = parentPath(path);
    if (this.#path === folderPath && this.#folder !== undefined) return this.#folder;
    return this.#keep(folderPath, this.#root.openBelow(folderPath));
  }

  /**
   * Whether the folder that was asked for last is still where it was opened, and not moved away meanwhile.
   */
  isStillThere(): boolean {
    if (this.#path === undefined || this.#path === ROOT_PATH || this.#folder === undefined) return true;
    const now = this.#root.factsBelow(this.#path);
    this.#identity ??= identityOf(this.#folder.ownFacts());
    return now !== undefined && sameIdentity(now, this.#identity);
  }

  close(): void {
    this.#folder?.close();
    this.#folder = undefined;
    this.#path = undefined;
    this.#identity = undefined;
  }

  [Symbol.dispose](): void {
    this.close();
  }

  #keep<Opened extends Folder | undefined>(path: string, folder: Opened): Opened {
    this.close();
    this.#path = path;
    this.#folder = folder;
    return folder;
  }
}
