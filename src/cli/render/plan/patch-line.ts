import { harmless } from "../../terminal/printable.ts";
import type { Styles } from "../styles.ts";

/** A part of a unified diff, for a terminal. */
export function terminalPatch(part: string, styles: Styles): string {
  return harmless(part)
    .split("\n")
    .map((line) => patchLine(line, styles))
    .join("\n");
}

/** One line of a unified diff, styled by its kind. */
export function patchLine(line: string, styles: Styles): string {
  if (/^(?:diff |index |--- |\+\+\+ |(?:old|new|deleted|new file) mode )/.test(line))
    return styles.bold(line);
  if (line.startsWith("@@")) return styles.cyan(line);
  if (line.startsWith("+")) return styles.green(line);
  return line.startsWith("-") ? styles.red(line) : line;
}
