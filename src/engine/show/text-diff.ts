import { formatPatch, OMIT_HEADERS } from "diff";
import { hunksBetween } from "../text/hunks.ts";
import { editsBetween, linesOf } from "../text/text-edits.ts";
import { gitPath } from "./git-path.ts";

/**
 * Line diffs of text files, as git shows them. A diff is bytes, as the files are (text-edits.ts).
 */
/** A file above this size is not compared by line. */
export const LARGEST_TEXT = 64 * 1024 * 1024;
/** The number of bytes that decide whether a file is text. */
export const BINARY_LOOKS_AT = 8000;

export interface LineCounts {
  readonly insertions: number;
  readonly deletions: number;
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
  const hunks = hunksBetween(before, after).map((hunk) => ({ ...hunk, lines: [...hunk.lines] }));
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
