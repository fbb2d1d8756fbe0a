import { baseName, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type Facts, type Identity, identityOf, sameIdentity } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";

/**
 * Opens the parent folders of paths. Entries come in path order, so most share the parent of the one before.
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
   * The folder that holds this path, or undefined if it is gone. The root holds itself. Valid until the next
   * call.
   */
  of(path: string): Folder | undefined {
    const folderPath = parentPath(path);
    if (this.#path !== folderPath) this.#keep(folderPath, this.#root.openBelowIfThere(folderPath));
    return this.#folder;
  }

  /** The folder that holds this path. Throws if it is gone. */
  need(path: string): Folder {
    const folderPath = parentPath(path);
    if (this.#path === folderPath && this.#folder !== undefined) return this.#folder;
    return this.#keep(folderPath, this.#root.openBelow(folderPath));
  }

  /** Whether the last returned folder is still at its path, and was not moved away. */
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

/** Reads the entry at a path of a tree, if there is one. */
export function readEntry<T>(
  tree: Folder,
  path: string,
  read: (parent: Folder, name: string, facts: Facts) => T,
): T | undefined {
  using parent = tree.openBelowIfThere(parentPath(path));
  const name = baseName(path);
  const facts = parent?.facts(name);
  return parent === undefined || facts === undefined ? undefined : read(parent, name, facts);
}
