import { harmless } from "../../terminal/printable.ts";
import type { Styles } from "../styles.ts";
import { markedWords } from "./marked-words.ts";

const HUNK = /^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@/;
const HEADER = /^(?:diff |index |--- |\+\+\+ |rename |similarity |(?:old|new|deleted file|new file) mode )/;

/** A part of a unified diff, for a terminal: whole files, or whole hunks of one. */
export function terminalPatch(part: string, styles: Styles): string {
  const lines = harmless(part).split("\n");
  const shown: string[] = [];
  for (let at = 0; at < lines.length; ) {
    const line = lines[at] as string;
    const hunk = HUNK.exec(line);
    if (hunk === null) {
      shown.push(HEADER.test(line) ? styles.bold(line) : line);
      at += 1;
      continue;
    }
    // Only the counts say where a hunk ends: a line of the text may look like any other line of a patch.
    const end = endOf(lines, at + 1, { old: Number(hunk[1] ?? 1), fresh: Number(hunk[2] ?? 1) });
    shown.push(styles.cyan(line), ...hunkLines(lines.slice(at + 1, end), styles));
    at = end;
  }
  return shown.join("\n");
}

function endOf(lines: readonly string[], from: number, left: { old: number; fresh: number }): number {
  let at = from;
  for (; at < lines.length && (left.old > 0 || left.fresh > 0); at += 1) {
    const sign = lines[at]?.[0];
    if (sign !== "+" && sign !== "\\") left.old -= 1;
    if (sign !== "-" && sign !== "\\") left.fresh -= 1;
  }
  return at;
}

/** Lines that replace as many others are shown with the words that differ. */
function* hunkLines(lines: readonly string[], styles: Styles): Generator<string> {
  for (let at = 0; at < lines.length; ) {
    const removed = run(lines, at, "-");
    const added = run(lines, at + removed.length, "+");
    if (removed.length === 0 && added.length === 0) {
      yield lines[at] as string;
      at += 1;
      continue;
    }
    const pairs =
      removed.length === added.length
        ? removed.map((line, pair) => markedWords(line.slice(1), (added[pair] as string).slice(1), styles))
        : [];
    yield* removed.map((line, pair) => styles.red(`-${pairs[pair]?.before ?? line.slice(1)}`));
    yield* added.map((line, pair) => styles.green(`+${pairs[pair]?.after ?? line.slice(1)}`));
    at += removed.length + added.length;
  }
}

function run(lines: readonly string[], from: number, sign: "-" | "+"): readonly string[] {
  let to = from;
  while (lines[to]?.[0] === sign) to += 1;
  return lines.slice(from, to);
}
