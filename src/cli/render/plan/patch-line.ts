import type { Styles } from "../styles.ts";

/** One line of a unified diff, styled by its kind. */
export function patchLine(line: string, styles: Styles): string {
  if (/^(?:diff |index |--- |\+\+\+ |(?:old|new|deleted|new file) mode )/.test(line))
    return styles.bold(line);
  if (line.startsWith("@@")) return styles.cyan(line);
  if (line.startsWith("+")) return styles.green(line);
  return line.startsWith("-") ? styles.red(line) : line;
}
