import type { ReviewedHunk } from "../api/types.ts";

/** One line of a hunk. */
export interface HunkLine {
  readonly kind: "same" | "added" | "deleted";
  readonly text: string;
  /** The file ends here without an end of line. */
  readonly isCutOff?: boolean;
}

/** Lines of a text file that change, with those around them. */
export interface Hunk {
  /** By which a word is said on it alone, if it can have one. */
  readonly id?: string;
  /** The first line of it, counted from 1, on each side. */
  readonly before: number;
  readonly after: number;
  readonly lines: readonly HunkLine[];
}

/** A hunk of the API. */
export function hunkOf({ id, oldStart, newStart, lines }: ReviewedHunk): Hunk {
  return { id, before: oldStart, after: newStart, lines: linesFrom(lines) };
}

function linesFrom(lines: readonly string[]): readonly HunkLine[] {
  const taken: HunkLine[] = [];
  for (const line of lines) take(taken, line);
  return taken;
}

/** Takes one line of a hunk, with its sign. Returns its kind; undefined if it only says how the last ends. */
function take(taken: HunkLine[], line: string): HunkLine["kind"] | undefined {
  const last = taken.at(-1);
  if (line.startsWith("\\") && last !== undefined) {
    taken[taken.length - 1] = { ...last, isCutOff: true };
    return undefined;
  }
  const kind = KINDS[line.charAt(0) as keyof typeof KINDS] ?? "same";
  taken.push({ kind, text: line.slice(1) });
  return kind;
}

const HEAD = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const KINDS = { " ": "same", "+": "added", "-": "deleted" } as const;

/**
 * The hunks of a patch of one file. Each says how many lines it has, and so many are taken as they are: no
 * line of a file can pass for the head of another hunk.
 */
export function hunksIn(patch: string): readonly Hunk[] {
  const lines = patch.split("\n");
  const hunks: Hunk[] = [];
  let at = lines.findIndex((line) => HEAD.test(line));
  while (at >= 0 && at < lines.length) {
    const head = HEAD.exec(lines[at] ?? "");
    if (head === null) break;
    const taken = takeHunk(lines, at + 1, head);
    hunks.push(taken.hunk);
    at = taken.next;
  }
  return hunks;
}

function takeHunk(lines: readonly string[], from: number, head: RegExpExecArray) {
  const [before, beforeCount, after, afterCount] = [1, 2, 3, 4].map((part) => Number(head[part] ?? 1)) as [
    number,
    number,
    number,
    number,
  ];
  const left = { deleted: beforeCount, added: afterCount };
  const taken: HunkLine[] = [];
  let at = from;
  for (; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (left.deleted === 0 && left.added === 0 && !line.startsWith("\\")) break;
    const kind = take(taken, line);
    if (kind === "same" || kind === "deleted") left.deleted -= 1;
    if (kind === "same" || kind === "added") left.added -= 1;
  }
  // A side without lines is named by the line before it.
  const hunk = {
    before: beforeCount === 0 ? before + 1 : before,
    after: afterCount === 0 ? after + 1 : after,
    lines: taken,
  };
  return { hunk, next: at };
}
