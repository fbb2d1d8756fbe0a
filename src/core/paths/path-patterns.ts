import { ROOT_PATH } from "./byte-path.ts";

/**
 * Patterns that choose paths of a resource: `*` is any run of characters within a name, `?` one character,
 * `**` as a whole name any number of names. Every other character stands for itself; write `?` for a star in
 * a name. A chosen path includes everything below it; "." chooses everything.
 */
export class PathPatterns {
  readonly #patterns: readonly RegExp[];

  constructor(globs: readonly string[]) {
    this.#patterns = globs.map(patternOf);
  }

  /** Whether the patterns choose this path, or a folder above it. */
  has(path: string): boolean {
    return this.#patterns.some((pattern) => pattern.test(path));
  }
}

function patternOf(glob: string): RegExp {
  if (glob === ROOT_PATH) return /^/;
  const names = glob.split("/");
  const parts = names.map((name, at) => {
    const isLast = at === names.length - 1;
    if (name === "**") return isLast ? ".+" : "(?:[^/]+/)*";
    return isLast ? nameOf(name) : `${nameOf(name)}/`;
  });
  return new RegExp(`^${parts.join("")}(?:/.*)?$`, "su");
}

function nameOf(glob: string): string {
  return glob
    .replace(/[\\^$.+()[\]{}|]/g, "\\$&")
    .replace(/\*+/g, "[^/]*")
    .replaceAll("?", "[^/]");
}
