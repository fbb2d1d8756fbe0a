import { BusyError } from "../../core/errors/errors.ts";
import { joinPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type Identity, identityOf, sameIdentity } from "../../system/calls/facts.ts";
import type { Folder } from "../../system/calls/folder.ts";

/** How many levels are open at once. A tree may be deeper than a process may open files. */
const MOST_OPEN = 100;

/**
 * A folder that is copied, and its copy, one level of a tree. Both are open while entries in them are copied.
 * Deep down, they are closed while a folder in them is copied, and opened again by their path.
 */
export class CopiedLevel implements Disposable {
  readonly #above: CopiedLevel | undefined;
  readonly #depth: number;
  /** The nearest level above that stays open, and the path from there. */
  readonly #anchor: CopiedLevel;
  readonly #path: string;
  readonly #identity: Identity;
  #from: Folder;
  #to: Folder;

  constructor(from: Folder, to: Folder, name: string = ROOT_PATH, above?: CopiedLevel) {
    this.#from = from;
    this.#to = to;
    this.#above = above;
    this.#depth = above === undefined ? 0 : above.#depth + 1;
    const staysOpen = above === undefined || this.#depth < MOST_OPEN;
    this.#anchor = staysOpen ? this : above.#anchor;
    this.#path = staysOpen ? ROOT_PATH : joinPath(above.#path, name);
    this.#identity = identityOf(from.ownFacts());
  }

  /** The folder that is copied. Valid until a folder in it is copied. */
  get from(): Folder {
    return this.#from;
  }

  /** Its copy. */
  get to(): Folder {
    return this.#to;
  }

  /** Called before entries of this level are copied. */
  closeAbove(): void {
    const above = this.#above;
    if (above !== undefined && above.#anchor !== above) above[Symbol.dispose]();
  }

  /** Called when everything in this level is copied. */
  openAbove(): void {
    const above = this.#above;
    if (above !== undefined && above.#anchor !== above) above.#open();
  }

  #open(): void {
    const { path } = this.#from;
    const from = this.#anchor.#from.openBelowIfThere(this.#path);
    if (from === undefined || !sameIdentity(from.ownFacts(), this.#identity)) {
      from?.close();
      throw new BusyError(`${path} was moved while it was copied.`, {
        holder: "another process",
        hint: "Stop what writes to it, or leave it out of the plan.",
      });
    }
    this.#from = from;
    this.#to = this.#anchor.#to.openBelow(this.#path);
  }

  [Symbol.dispose](): void {
    this.#from.close();
    this.#to.close();
  }
}
