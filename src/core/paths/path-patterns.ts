import { ROOT_PATH } from "./byte-path.ts";

/**
 * Which paths of a resource are meant, by patterns: `*` is any run of characters within a name, `?` one of
 * them, `**` as a whole name any number of names. Every other character means itself, so a name with a star
 * in it is best written with `?`. What is below a path that is meant is meant too; "." means everything.
 */
export class PathPatterns {
  readonly #patterns: readonly RegExp[];

  constructor(globs: readonly string[]) {
    this.#patterns = globs.map(patternOf);
  }

  /** Whether this path, or a folder above it, is meant. */
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
