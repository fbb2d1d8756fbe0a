import { displayPath } from "../../core/paths/byte-path.ts";

/** The path of a value in a config: keys, and indexes of lists. */
export type ConfigPath = readonly PropertyKey[];

/** One problem of a config. */
export interface ConfigProblem {
  readonly path: ConfigPath;
  /** The offset in the text, in UTF-16 units. */
  readonly offset: number;
  /** One line, without the position. */
  readonly message: string;
  readonly hint: string;
}

/** A path as people write it: `sandbox.checkpoint.auto_create_on[0]`. */
export function nameOfPath(path: ConfigPath): string {
  return path
    .map((key, at) => (typeof key === "number" ? `[${key}]` : `${at === 0 ? "" : "."}${shownKey(key)}`))
    .join("");
}

/** A key for a message of one line. */
export function shownKey(key: PropertyKey): string {
  return shortened(displayPath(String(key)));
}

/** The text, cut to a length that suits a message. */
export function shortened(text: string): string {
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** "a", "a or b", "a, b or c". */
export function listed(names: readonly string[]): string {
  if (names.length < 2) return names.join("");
  return `${names.slice(0, -1).join(", ")} or ${names.at(-1)}`;
}

/** The line and column of an offset, both counted from 1. A byte order mark takes no column. */
export function positionAt(text: string, offset: number): { readonly line: number; readonly column: number } {
  const before = text.slice(0, offset);
  const line = before.split("\n").length;
  const start = before.lastIndexOf("\n") + 1;
  const marks = line === 1 && text.startsWith("\ufeff") ? 1 : 0;
  return { line, column: Math.max(1, offset - start + 1 - marks) };
}
