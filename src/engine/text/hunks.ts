import { createHash } from "node:crypto";
import { type Edit, editsBetween, linesOf } from "./text-edits.ts";

/**
 * The hunks of a change of a text: what a patch shows, and what can land alone. Both are made here, so a hunk
 * that a person approves is the one that lands.
 */
export interface Hunk {
  /** Made from its lines, so it stays when other hunks of the file land. */
  readonly id: string;
  readonly oldStart: number;
  readonly oldLines: number;
  readonly newStart: number;
  readonly newLines: number;
  /** As in a patch: with a sign before each, one character for each byte. */
  readonly lines: readonly string[];
}

interface FoundHunk extends Hunk {
  readonly edits: readonly Edit[];
}

const CONTEXT = 3;
const NO_NEWLINE = "\\ No newline at end of file";
const ID_LENGTH = 16;

/** The hunks between two texts. A side that does not exist is undefined. */
export function hunksBetween(before: Uint8Array | undefined, after: Uint8Array | undefined): readonly Hunk[] {
  return found(linesOf(before), linesOf(after)).map(({ edits: _, ...hunk }) => hunk);
}

/**
 * The old text with these hunks of the new one; undefined if one of them is not a hunk of these texts.
 */
export function withHunks(
  before: Uint8Array,
  after: Uint8Array,
  chosen: ReadonlySet<string>,
): Buffer | undefined {
  const [old, fresh] = [linesOf(before), linesOf(after)];
  const hunks = found(old, fresh).filter(({ id }) => chosen.has(id));
  if (hunks.length < chosen.size) return undefined;
  const lines: string[] = [];
  let at = 0;
  for (const { oldFrom, oldTo, newFrom, newTo } of hunks.flatMap(({ edits }) => edits)) {
    for (; at < oldFrom; at += 1) lines.push(old[at] as string);
    for (let line = newFrom; line < newTo; line += 1) lines.push(fresh[line] as string);
    at = oldTo;
  }
  for (; at < old.length; at += 1) lines.push(old[at] as string);
  return Buffer.from(lines.join(""), "latin1");
}

/** Edits with their context lines. Edits whose context would touch share a hunk. */
function found(old: readonly string[], fresh: readonly string[]): FoundHunk[] {
  const edits = editsBetween(old, fresh);
  const hunks: FoundHunk[] = [];
  const met = new Map<string, number>();
  for (let first = 0, last = 0; first < edits.length; first = last) {
    last = first + 1;
    while (last < edits.length && edit(last).oldFrom - edit(last - 1).oldTo <= CONTEXT * 2) last += 1;
    const group = edits.slice(first, last);
    const hunk = hunkOf(old, fresh, group);
    hunks.push({ id: idOf(hunk.lines, met), ...hunk, edits: group });
  }
  return hunks;

  function edit(at: number): Edit {
    return edits[at] as Edit;
  }
}

/** Hunks with the same lines are counted. */
function idOf(lines: readonly string[], met: Map<string, number>): string {
  const hash = createHash("sha256").update(lines.join("\n"), "latin1");
  const id = hash.digest("hex").slice(0, ID_LENGTH);
  const count = (met.get(id) ?? 0) + 1;
  met.set(id, count);
  return count === 1 ? id : `${id}-${count}`;
}

function hunkOf(old: readonly string[], fresh: readonly string[], edits: readonly Edit[]): Omit<Hunk, "id"> {
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
