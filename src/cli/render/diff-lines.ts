import type { ChangeOperation } from "../../core/change.ts";
import type { PlanChange, PlanDiff } from "../../plans/plan-views.ts";
import { oneLine } from "../printable.ts";
import { changeNotes, sizes, writtenNotes } from "./change-notes.ts";
import { placeOf } from "./place.ts";
import { selfRunningLines } from "./self-running-lines.ts";
import type { Styles } from "./styles.ts";
import { textWidth } from "./text-table.ts";

const LETTERS: { readonly [operation in ChangeOperation]: string } = {
  added: "A",
  modified: "M",
  deleted: "D",
  typechanged: "T",
};
const WIDEST_COLUMN = 60;
const WIDEST_GRAPH = 40;

/** A diff as a list: a line for each change, what will not land as it is below it, and a summary. */
export function* diffLines(diff: PlanDiff, styles: Styles): Generator<string> {
  const width = columnWidth(diff.changes);
  for (const change of diff.changes) yield* changeLines(change, changeNotes(change), width, styles);
  yield* selfRunningLines(diff.selfRunning, styles);
  yield summaryLine(diff);
  if (diff.changes.length > 0) yield styles.dim(`digest ${diff.digest}`);
}

/** What was just written. */
export function writtenLines(change: PlanChange, styles: Styles): Iterable<string> {
  return changeLines(change, writtenNotes(change), 0, styles);
}

/** One change as a line, and a line for each of its warnings. */
function* changeLines(change: PlanChange, said: readonly string[], width: number, styles: Styles): Generator<string> {
  const place = placeOf(change.resource, change.path);
  const notes = said.join(", ");
  const letter = colourOf(change.operation, styles)(LETTERS[change.operation]);
  yield `${letter}  ${notes === "" ? place : `${padded(place, width)}  ${styles.dim(notes)}`}`;
  yield* warningLines(change, styles);
}

function* warningLines({ warnings = [] }: PlanChange, styles: Styles): Generator<string> {
  for (const warning of warnings) yield `   ${styles.yellow("warning:")} ${oneLine(warning)}`;
}

/** A diff as `git diff --stat` shows one, with what will not land as it is. */
export function* statLines(diff: PlanDiff, styles: Styles): Generator<string> {
  const width = columnWidth(diff.changes);
  const most = diff.changes.reduce((max, change) => Math.max(max, touchedLines(change)), 1);
  for (const change of diff.changes) {
    yield ` ${padded(placeOf(change.resource, change.path), width)} | ${statOf(change, most, styles)}`;
    yield* warningLines(change, styles);
  }
  yield* selfRunningLines(diff.selfRunning, styles);
  yield summaryLine(diff);
}

/** What is to be said of a diff besides the patch itself. */
export function* patchNotes({ changes, selfRunning }: PlanDiff, styles: Styles): Generator<string> {
  for (const { resource, path, warnings = [] } of changes)
    for (const warning of warnings)
      yield `${styles.yellow("warning:")} ${placeOf(resource, path)}: ${oneLine(warning)}`;
  yield* selfRunningLines(selfRunning, styles);
}

/** Only what changed, without how. */
export function* nameLines(diff: PlanDiff): Generator<string> {
  for (const { resource, path } of diff.changes) yield placeOf(resource, path);
}

function summaryLine({ changes, stats }: PlanDiff): string {
  if (changes.length === 0) return "No changes.";
  const parts = [`${stats.added} added`, `${stats.modified} modified`, `${stats.deleted} deleted`];
  const lines = [counted(stats.insertions, "insertion", "+"), counted(stats.deletions, "deletion", "-")];
  return `${parts.join(", ")}; ${lines.join(", ")}`;
}

function counted(count: number, what: string, sign: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}(${sign})`;
}

function statOf(change: PlanChange, most: number, styles: Styles): string {
  if (change.binary) return `binary, ${sizes(change.before ?? {}, change.after ?? {})}`;
  const touched = touchedLines(change);
  if (touched === 0) return [change.operation, ...changeNotes(change)].join(", ");
  const scale = Math.min(1, WIDEST_GRAPH / most);
  const plus = "+".repeat(Math.ceil((change.insertions ?? 0) * scale));
  const minus = "-".repeat(Math.ceil((change.deletions ?? 0) * scale));
  return `${String(touched).padStart(String(most).length)} ${styles.green(plus)}${styles.red(minus)}`;
}

function touchedLines({ insertions = 0, deletions = 0 }: PlanChange): number {
  return insertions + deletions;
}

function columnWidth(changes: readonly PlanChange[]): number {
  const widest = changes.reduce((max, { resource, path }) => Math.max(max, textWidth(placeOf(resource, path))), 0);
  return Math.min(widest, WIDEST_COLUMN);
}

function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - textWidth(text)));
}

function colourOf(operation: ChangeOperation, styles: Styles): (text: string) => string {
  if (operation === "added") return styles.green;
  return operation === "deleted" ? styles.red : styles.yellow;
}
