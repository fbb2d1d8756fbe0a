import { baseName, bytesFromPath, parentPath, ROOT_PATH } from "../../core/paths/byte-path.ts";
import { type Facts, isDevice } from "../../system/calls/facts.ts";
import type { CopiedEntry } from "../tree/copy-tree.ts";
import { Baseline, type Extras } from "./baseline.ts";
import { F_COLUMNS, NO_BLOCK, U, U_COLUMNS, writeCopy, writeOriginal } from "./baseline-columns.ts";

/**
 * Builds a baseline while a tree is copied. `add` is called once for each entry, for a folder after its
 * contents.
 */
export class BaselineBuilder {
  #floats = new Float64Array(1024 * F_COLUMNS);
  #words = new Uint32Array(1024 * U_COLUMNS);
  #count = 0;
  readonly #blocks: number[] = [];
  readonly #nameParts: Buffer[] = [];
  #nameBytes = 0;
  readonly #extras: { [index: string]: Extras } = {};
  readonly #waiting = new Map<string, CopiedEntry[]>();
  readonly #blockOf = new Map<string, number>();
  /** Entries whose copy has several names: linking a later name moved the change time of the earlier ones. */
  readonly #linked: (readonly [index: number, path: string])[] = [];

  add(entry: CopiedEntry): void {
    if (entry.original.kind === "directory") this.#closeFolder(entry.path);
    if (entry.path === ROOT_PATH) {
      this.#append(entry);
      return;
    }
    const parent = parentPath(entry.path);
    const siblings = this.#waiting.get(parent);
    if (siblings === undefined) this.#waiting.set(parent, [entry]);
    else siblings.push(entry);
  }

  /** `lookAgain` returns the facts of a copy after everything is copied. */
  finish(lookAgain: (path: string) => Facts | undefined): Baseline {
    for (const [index, path] of this.#linked) {
      const copy = lookAgain(path);
      if (copy !== undefined) writeCopy(this.#floats, this.#words, index, copy);
    }
    return new Baseline({
      floats: this.#floats.slice(0, this.#count * F_COLUMNS),
      words: this.#words.slice(0, this.#count * U_COLUMNS),
      blocks: Uint32Array.from(this.#blocks),
      names: Buffer.concat(this.#nameParts),
      extras: this.#extras,
    });
  }

  #closeFolder(path: string): void {
    const children = this.#waiting.get(path) ?? [];
    this.#waiting.delete(path);
    this.#blockOf.set(path, this.#blocks.length / 2);
    this.#blocks.push(this.#count, children.length);
    for (const child of children) this.#append(child);
  }

  #append({ path, original, copy, xattrs, target }: CopiedEntry): void {
    const index = this.#count;
    this.#grow();
    this.#count += 1;
    writeOriginal(this.#floats, this.#words, index, original);
    writeCopy(this.#floats, this.#words, index, copy);
    const name = bytesFromPath(baseName(path));
    const u = index * U_COLUMNS;
    this.#words[u + U.nameAt] = this.#nameBytes;
    this.#words[u + U.nameLength] = name.length;
    this.#words[u + U.block] = this.#blockOf.get(path) ?? NO_BLOCK;
    this.#blockOf.delete(path);
    this.#nameParts.push(name);
    this.#nameBytes += name.length;
    const hasXattrs = Object.keys(xattrs).length > 0;
    if (hasXattrs || target !== undefined || isDevice(original.kind)) {
      this.#extras[index] = {
        ...(hasXattrs && { xattrs }),
        ...(target !== undefined && { target }),
        ...(isDevice(original.kind) && { rdev: original.rdev }),
      };
    }
    if (original.nlink > 1 && original.kind !== "directory") this.#linked.push([index, path]);
  }

  #grow(): void {
    if ((this.#count + 1) * F_COLUMNS <= this.#floats.length) return;
    const floats = new Float64Array(this.#floats.length * 2);
    floats.set(this.#floats);
    this.#floats = floats;
    const words = new Uint32Array(this.#words.length * 2);
    words.set(this.#words);
    this.#words = words;
  }
}
