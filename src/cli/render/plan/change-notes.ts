import type { Change, ChangeFacts } from "../../../core/change.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import { oneLine } from "../../terminal/printable.ts";

/** Notes on a change besides its letter and path, a few words each: "+3 -1", "mode 644 → 755". */
export function changeNotes(change: Change): readonly string[] {
  const { kind, before = {}, after = {} } = change;
  if (change.note !== undefined) return [oneLine(change.note)];
  const notes = [
    kind === "file" ? "" : kind,
    change.from === undefined ? "" : `from ${displayPath(change.from)}`,
    targets(before, after),
    lineCounts(change),
    change.rows === undefined ? "" : `${change.rows} ${change.rows === 1 ? "row" : "rows"}`,
    change.statement === undefined ? "" : oneLine(change.statement),
    contentSize(change),
    differing("mode", before.mode, after.mode, (mode) => mode.toString(8).padStart(3, "0")),
    differing("owner", ownerOf(before), ownerOf(after), String),
  ].filter((note) => note !== "");
  if (change.operation !== "modified") return notes;
  const attributes = before.xattrs === after.xattrs ? [] : ["attributes"];
  if (notes.length > (kind === "file" ? 0 : 1)) return [...notes, ...attributes];
  const rest = restOf(before, after);
  return [...notes, ...(rest === undefined ? [] : [rest]), ...attributes];
}

/**
 * Notes on a change that was just written. Whether the content differs is unknown, so only the size is noted.
 */
export function writtenNotes({ kind, before = {}, after = {} }: Change): readonly string[] {
  if (after.size !== undefined) return [sizes(before, after)];
  return kind === "file" ? [] : [kind];
}

/**
 * The note on a modification that no other note shows: other content of the same size, another time, or a
 * difference that the facts do not have.
 */
function restOf(before: ChangeFacts, after: ChangeFacts): string | undefined {
  // A strategy of the user's own need not tell.
  if (Object.keys(before).length + Object.keys(after).length === 0) return undefined;
  if (before.digest !== after.digest) return "content";
  if (before.mtime !== after.mtime) return "time";
  return before.xattrs === after.xattrs ? "metadata" : undefined;
}

/** "+3 -1" for a text file whose lines changed. */
function lineCounts({ insertions = 0, deletions = 0 }: Change): string {
  const counts = [insertions === 0 ? "" : `+${insertions}`, deletions === 0 ? "" : `-${deletions}`];
  return counts.filter((count) => count !== "").join(" ");
}

/** The size of a file, where there are no lines to count. */
function contentSize(change: Change): string {
  const { kind, operation, binary, before = {}, after = {} } = change;
  if (binary) return `binary, ${sizes(before, after)}`;
  if (kind !== "file" || operation === "deleted" || after.size === undefined || lineCounts(change) !== "")
    return "";
  return before.size === after.size ? "" : sizes(before, after);
}

/** "10 → 12 bytes". */
export function sizes(before: ChangeFacts, after: ChangeFacts): string {
  const known = [before.size, after.size].filter((size) => size !== undefined);
  const [first, second] = known;
  return `${first === second ? first : known.join(" → ")} bytes`;
}

function targets(before: ChangeFacts, after: ChangeFacts): string {
  const [from, to] = [before.target, after.target].map((target) => target && displayPath(target));
  if (from === undefined && to === undefined) return "";
  if (to === undefined) return `was to ${from}`;
  return from === undefined || from === to ? `to ${to}` : `to ${from} → ${to}`;
}

function ownerOf({ uid, gid }: ChangeFacts): string | undefined {
  return uid === undefined && gid === undefined ? undefined : `${uid ?? "?"}:${gid ?? "?"}`;
}

function differing<T>(
  what: string,
  before: T | undefined,
  after: T | undefined,
  show: (value: T) => string,
): string {
  if (before === undefined || after === undefined || before === after) return "";
  return `${what} ${show(before)} → ${show(after)}`;
}
