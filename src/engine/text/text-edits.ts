import { diffArrays } from "diff";

/**
 * The edits between two texts, by lines.
 *
 * Files are bytes: we compare them as Latin-1, in which every byte is one character. So no text is damaged,
 * in any encoding.
 *
 * The cost is bounded, and the same input always gives the same edits: the limit is on edits, not on time.
 * Beyond it, everything between the first and the last difference is replaced, which is correct but not the
 * shortest.
 */
const MAX_EDITS = 1000;

/**
 * Lines `oldFrom` to `oldTo` of the old text became lines `newFrom` to `newTo` of the new one; counted from
 * 0, ends exclusive.
 */
export interface Edit {
  readonly oldFrom: number;
  readonly oldTo: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/** The lines of a text, each with the newline that ends it. */
export function linesOf(bytes: Uint8Array | undefined): string[] {
  if (bytes === undefined || bytes.length === 0) return [];
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString("latin1");
  const lines: string[] = [];
  for (let from = 0; from < text.length; ) {
    const newline = text.indexOf("\n", from);
    const to = newline < 0 ? text.length : newline + 1;
    lines.push(text.slice(from, to));
    from = to;
  }
  return lines;
}

export function editsBetween(old: readonly string[], fresh: readonly string[]): Edit[] {
  const shorter = Math.min(old.length, fresh.length);
  let start = 0;
  while (start < shorter && old[start] === fresh[start]) start += 1;
  let end = 0;
  while (end < shorter - start && old[old.length - 1 - end] === fresh[fresh.length - 1 - end]) end += 1;
  const whole: Edit = { oldFrom: start, oldTo: old.length - end, newFrom: start, newTo: fresh.length - end };
  if (whole.oldFrom === whole.oldTo && whole.newFrom === whole.newTo) return [];
  if (whole.oldFrom === whole.oldTo || whole.newFrom === whole.newTo) return [whole];
  return shortestEdits(old, fresh, whole) ?? [whole];
}

/**
 * The shortest list of edits within this range, or undefined if it is too long. Lines that only one side has
 * are left out of the search, so a rewritten text costs no more than one with a few edits.
 */
function shortestEdits(old: readonly string[], fresh: readonly string[], range: Edit): Edit[] | undefined {
  const oldShared = sharedLines(
    old,
    range.oldFrom,
    range.oldTo,
    new Set(fresh.slice(range.newFrom, range.newTo)),
  );
  if (oldShared.length === 0) return [range];
  const newShared = sharedLines(
    fresh,
    range.newFrom,
    range.newTo,
    new Set(old.slice(range.oldFrom, range.oldTo)),
  );
  const oldTexts = oldShared.map((line) => old[line] as string);
  const newTexts = newShared.map((line) => fresh[line] as string);
  const parts = diffArrays(oldTexts, newTexts, { maxEditLength: MAX_EDITS });
  if (parts === undefined) return undefined;
  const edits: Edit[] = [];
  let [oldAt, newAt] = [range.oldFrom, range.newFrom];
  const keepUntil = (oldTo: number, newTo: number) => {
    if (oldTo > oldAt || newTo > newAt) edits.push({ oldFrom: oldAt, oldTo, newFrom: newAt, newTo });
    [oldAt, newAt] = [oldTo + 1, newTo + 1];
  };
  let [oldNext, newNext] = [0, 0];
  for (const { added, removed, count } of parts) {
    if (removed) oldNext += count;
    else if (added) newNext += count;
    else
      for (let at = 0; at < count; at += 1)
        keepUntil(oldShared[oldNext++] as number, newShared[newNext++] as number);
  }
  keepUntil(range.oldTo, range.newTo);
  return edits;
}

function sharedLines(
  lines: readonly string[],
  from: number,
  to: number,
  others: ReadonlySet<string>,
): number[] {
  const shared: number[] = [];
  for (let line = from; line < to; line += 1) if (others.has(lines[line] as string)) shared.push(line);
  return shared;
}
