import { diffArrays, formatPatch, OMIT_HEADERS, type StructuredPatchHunk } from "diff";
import { gitPath } from "./git-path.ts";

/**
 * Line diffs of text files, as git shows them.
 *
 * Files are bytes: we compare them as Latin-1, in which every byte is one character, and a diff is bytes
 * again. So no text is damaged, in any encoding.
 *
 * The cost is bounded, and the same input always gives the same diff: the limit is on edits, not on time.
 * Beyond it, everything between the first and the last difference is shown as replaced, which is correct but
 * not the shortest.
 */
/** A file above this size is not compared by line. */
export const LARGEST_TEXT = 64 * 1024 * 1024;
const MAX_EDITS = 1000;
const CONTEXT = 3;
/** The number of bytes that decide whether a file is text. */
export const BINARY_LOOKS_AT = 8000;
const NO_NEWLINE = "\\ No newline at end of file";

export interface LineCounts {
  readonly insertions: number;
  readonly deletions: number;
}

/**
 * Lines `oldFrom` to `oldTo` of the old text became lines `newFrom` to `newTo` of the new one; counted from
 * 0, ends exclusive.
 */
interface Edit {
  readonly oldFrom: number;
  readonly oldTo: number;
  readonly newFrom: number;
  readonly newTo: number;
}

/** Whether this is not text, by git's rule: a NUL among the first 8,000 bytes. */
export function isBinary(bytes: Uint8Array): boolean {
  return bytes.subarray(0, BINARY_LOOKS_AT).includes(0);
}

/** How many lines were added and removed. */
export function countLines(before: Uint8Array, after: Uint8Array): LineCounts {
  const counts = { insertions: 0, deletions: 0 };
  for (const edit of editsBetween(linesOf(before), linesOf(after))) {
    counts.insertions += edit.newTo - edit.newFrom;
    counts.deletions += edit.oldTo - edit.oldFrom;
  }
  return counts;
}

/**
 * The unified diff of a text, with its two header lines; empty if no line differs. A side that does not exist
 * is undefined, and shown as `/dev/null`.
 */
export function unifiedDiff(
  path: string,
  before: Uint8Array | undefined,
  after: Uint8Array | undefined,
): Buffer {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const hunks = hunksOf(old, fresh, editsBetween(old, fresh));
  if (hunks.length === 0) return Buffer.alloc(0);
  const header = `--- ${headerName("a", path, before)}\n+++ ${headerName("b", path, after)}\n`;
  const body = formatPatch(
    { oldFileName: "", newFileName: "", oldHeader: undefined, newHeader: undefined, hunks },
    OMIT_HEADERS,
  );
  return Buffer.concat([Buffer.from(header, "latin1"), Buffer.from(body, "latin1")]);
}

/** A name with a space is followed by a tab, so that `patch` knows where it ends. */
function headerName(side: "a" | "b", path: string, bytes: Uint8Array | undefined): string {
  if (bytes === undefined) return "/dev/null";
  const name = gitPath(`${side}/${path}`);
  return name.includes(" ") ? `${name}\t` : name;
}

/** The lines of a text, each with the newline that ends it. */
function linesOf(bytes: Uint8Array | undefined): string[] {
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

function editsBetween(old: readonly string[], fresh: readonly string[]): Edit[] {
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

/** Edits with their context lines. Edits whose context would touch share a hunk. */
function hunksOf(
  old: readonly string[],
  fresh: readonly string[],
  edits: readonly Edit[],
): StructuredPatchHunk[] {
  const hunks: StructuredPatchHunk[] = [];
  for (let first = 0, last = 0; first < edits.length; first = last) {
    last = first + 1;
    while (last < edits.length && edit(last).oldFrom - edit(last - 1).oldTo <= CONTEXT * 2) last += 1;
    hunks.push(hunkOf(old, fresh, edits.slice(first, last)));
  }
  return hunks;

  function edit(at: number): Edit {
    return edits[at] as Edit;
  }
}

function hunkOf(
  old: readonly string[],
  fresh: readonly string[],
  edits: readonly Edit[],
): StructuredPatchHunk {
  const [first, last] = [edits[0] as Edit, edits.at(-1) as Edit];
  const before = Math.min(CONTEXT, first.oldFrom);
  const end = Math.min(old.length, last.oldTo + CONTEXT);
  const lines: string[] = [];
  let at = first.oldFrom - before;
  for (const edit of edits) {
    mark(" ", old, at, edit.oldFrom);
    mark("-", old, edit.oldFrom, edit.oldTo);
    mark("+", fresh, edit.newFrom, edit.newTo);
    at = edit.oldTo;
  }
  mark(" ", old, at, end);
  const [oldFrom, newFrom] = [first.oldFrom - before, first.newFrom - before];
  const newEnd = last.newTo + (end - last.oldTo);
  return {
    oldStart: oldFrom + 1,
    oldLines: end - oldFrom,
    newStart: newFrom + 1,
    newLines: newEnd - newFrom,
    lines,
  };

  function mark(sign: " " | "-" | "+", texts: readonly string[], from: number, to: number): void {
    for (const text of texts.slice(from, to)) {
      if (text.endsWith("\n")) lines.push(sign + text.slice(0, -1));
      else lines.push(sign + text, NO_NEWLINE);
    }
  }
}
