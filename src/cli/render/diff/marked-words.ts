import { editsBetween } from "../../../engine/text/text-edits.ts";
import type { Styles } from "../styles.ts";

/** Two lines with the words marked that differ. */
export interface MarkedLines {
  readonly before: string;
  readonly after: string;
}

/** In longer lines nobody looks for a word. */
const LONGEST = 2_000;

/**
 * Marks the words by which one line differs from another. Undefined if the lines have less than half in
 * common: marks would cover most of them.
 */
export function markedWords(before: string, after: string, styles: Styles): MarkedLines | undefined {
  if (before.length > LONGEST || after.length > LONGEST) return undefined;
  const [old, fresh] = [wordsOf(before), wordsOf(after)];
  const edits = editsBetween(old, fresh);
  const oldRanges = edits.map(({ oldFrom, oldTo }) => [oldFrom, oldTo] as const);
  const newRanges = edits.map(({ newFrom, newTo }) => [newFrom, newTo] as const);
  const changed = oldRanges.flatMap((range) => old.slice(...range));
  const kept = inkOf(old) - inkOf(changed);
  if (kept * 2 < Math.min(inkOf(old), inkOf(fresh))) return undefined;
  return { before: marked(old, oldRanges, styles), after: marked(fresh, newRanges, styles) };
}

/** The pattern is in here because V8 takes a while to find all letters, and few commands show words. */
function wordsOf(line: string): readonly string[] {
  return line.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? [];
}

/** How many characters can be seen. */
function inkOf(words: readonly string[]): number {
  return words.reduce((sum, word) => sum + word.trim().length, 0);
}

type Range = readonly [from: number, to: number];

function marked(words: readonly string[], ranges: readonly Range[], styles: Styles): string {
  let text = "";
  let at = 0;
  for (const [from, to] of ranges) {
    text += words.slice(at, from).join("") + styles.reversed(words.slice(from, to).join(""));
    at = to;
  }
  return text + words.slice(at).join("");
}
