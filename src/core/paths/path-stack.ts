import { isAtOrBelow } from "./byte-path.ts";

/**
 * Remembers a value for folders while paths come in path order: only for the folders above the current path,
 * because the order comes back to no other.
 */
export class PathStack<Value> {
  readonly #held: { readonly path: string; readonly value: Value }[] = [];

  /** What is remembered of this folder. Forgets all folders that do not hold it. */
  find(path: string): { readonly value: Value } | undefined {
    for (let last = this.#held.at(-1); last !== undefined; last = this.#held.at(-1)) {
      if (last.path === path) return last;
      if (isAtOrBelow(path, last.path)) return undefined;
      this.#held.pop();
    }
    return undefined;
  }

  /** Remembers a folder that was not found. */
  add(path: string, value: Value): Value {
    this.#held.push({ path, value });
    return value;
  }
}

/** The same for folders of which nothing but the path matters. */
export class SeenFolders {
  readonly #stack = new PathStack<true>();

  /** Whether this is the first time that the folder is met. */
  meet(path: string): boolean {
    return this.#stack.find(path) === undefined && this.#stack.add(path, true);
  }
}
