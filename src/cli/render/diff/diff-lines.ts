import type { ChangeOperation } from "../../../core/change.ts";
import { displayPath } from "../../../core/paths/byte-path.ts";
import type { LandedView } from "../../../plans/landing-views.ts";
import type { PlanChange, PlanDiff, PlanRename } from "../../../plans/plan-views.ts";
import { RenameIndex } from "../../../plans/renames/rename-index.ts";
import { oneLine } from "../../terminal/printable.ts";
import { placeOf } from "../plan/attention-line.ts";
import { changeNotes, sizes, writtenNotes } from "../plan/change-notes.ts";
import type { Styles } from "../styles.ts";
import { textWidth } from "../text-table.ts";
import { type FoldableRow, foldedRows } from "./folded-rows.ts";
import { savedLines } from "./saved-lines.ts";
import { selfRunningLines } from "./self-running-lines.ts";

/** What a row says happened. */
type RowOperation = ChangeOperation | "renamed";

const LETTERS: { readonly [operation in RowOperation]: string } = {
  added: "A",
  modified: "M",
  deleted: "D",
  typechanged: "T",
  renamed: "R",
};
const WIDEST_COLUMN = 60;
const WIDEST_GRAPH = 40;

/**
 * A diff as lines. It takes one change after the other and keeps only what its lines need, because a large
 * diff does not fit into memory. The lines come at the end, because the widest path sets the column.
 */
export interface DiffLines {
  add(change: PlanChange): void;
  /** `diff` need not list the changes. */
  lines(diff: PlanDiff): Iterable<string>;
}

/** The lines of a diff that lists all its changes. */
export function linesOf(diff: PlanDiff, as: DiffLines): Iterable<string> {
  for (const change of diff.changes) as.add(change);
  return as.lines(diff);
}

/** A diff as a list: a line for each change, a line below it for each warning, and a summary. */
export class ChangeList implements DiffLines {
  readonly #styles: Styles;
  readonly #rows: ListRow[] = [];
  #width = 0;

  constructor(styles: Styles) {
    this.#styles = styles;
  }

  add(change: PlanChange): void {
    const row = listRow(change, changeNotes(change));
    this.#rows.push(row);
    this.#width = widened(this.#width, row.place);
  }

  *lines(diff: PlanDiff): Generator<string> {
    for (const row of withRenames(this.#rows, diff, renamedRow))
      yield* rowLines(row, this.#width, this.#styles);
    yield* selfRunningLines(diff.selfRunning, this.#styles);
    yield* endLines(diff, this.#rows.length > 0, this.#styles);
  }
}

/** A diff as `git diff --stat` shows one, with the warnings; folded to about `most` lines. */
export class ChangeStat implements DiffLines {
  readonly #styles: Styles;
  readonly #mostLines: number;
  readonly #rows: StatRow[] = [];
  #width = 0;
  #most = 1;

  constructor(styles: Styles, mostLines = Number.POSITIVE_INFINITY) {
    this.#styles = styles;
    this.#mostLines = mostLines;
  }

  add(change: PlanChange): void {
    const { resource, path, operation, insertions = 0, deletions = 0, warnings } = change;
    const place = placeOf(resource, path);
    const text = statText(change);
    this.#rows.push({ resource, path, place, operation, insertions, deletions, text, warnings });
    this.#width = widened(this.#width, place);
    this.#most = Math.max(this.#most, insertions + deletions);
  }

  *lines(diff: PlanDiff): Generator<string> {
    const rows = [...withRenames(this.#rows, diff, renamedStat)];
    if (rows.length <= this.#mostLines) for (const row of rows) yield* this.#rowLines(row);
    else yield* this.#foldedLines(rows);
    yield* selfRunningLines(diff.selfRunning, this.#styles);
    yield* endLines(diff, false, this.#styles);
  }

  *#rowLines(row: StatRow): Generator<string> {
    yield this.#line(row.place, row.text ?? this.#graph(row));
    yield* warningLines(row, this.#styles);
  }

  *#foldedLines(rows: readonly StatRow[]): Generator<string> {
    for (const item of foldedRows(rows, this.#mostLines)) {
      if ("row" in item) yield* this.#rowLines(item.row);
      else if ("folder" in item) yield this.#line(item.folder, item.text);
      else yield this.#styles.dim(` … and ${item.more} more`);
    }
  }

  #line(place: string, text: string): string {
    return ` ${padded(place, this.#width)} | ${text}`;
  }

  #graph({ insertions, deletions }: StatRow): string {
    const scale = Math.min(1, WIDEST_GRAPH / this.#most);
    const [plus, minus] = [
      "+".repeat(Math.ceil(insertions * scale)),
      "-".repeat(Math.ceil(deletions * scale)),
    ];
    const touched = String(insertions + deletions).padStart(String(this.#most).length);
    return `${touched} ${this.#styles.green(plus)}${this.#styles.red(minus)}`;
  }
}

/** Only the changed paths. */
export class ChangeNames implements DiffLines {
  readonly #places: string[] = [];

  add({ resource, path }: PlanChange): void {
    this.#places.push(placeOf(resource, path));
  }

  lines(): Iterable<string> {
    return this.#places;
  }
}

/** A row of one change. */
interface ChangeRow {
  readonly resource: string;
  readonly path: string;
  readonly operation: RowOperation;
}

interface ListRow extends ChangeRow {
  readonly place: string;
  readonly notes: string;
  readonly warnings: readonly string[] | undefined;
}

interface StatRow extends FoldableRow, ChangeRow {
  readonly insertions: number;
  readonly deletions: number;
  /** Replaces the graph where no lines changed. */
  readonly text: string | undefined;
}

/** The lines of a change that was just written to a sandbox. */
export function writtenLines(change: PlanChange, styles: Styles): Iterable<string> {
  return rowLines(listRow(change, writtenNotes(change)), 0, styles);
}

function listRow({ resource, path, operation, warnings }: PlanChange, notes: readonly string[]): ListRow {
  return { resource, path, operation, place: placeOf(resource, path), notes: notes.join(", "), warnings };
}

/** The rows, with one for each rename in place of those that make it up. */
function* withRenames<Row extends ChangeRow>(
  rows: readonly Row[],
  { renames }: PlanDiff,
  renamed: (row: Row, rename: PlanRename) => Row,
): Generator<Row> {
  const index = new RenameIndex(renames);
  for (const row of rows) {
    const rename = row.operation === "renamed" ? undefined : index.of({ ...row, operation: row.operation });
    if (rename === undefined) yield row;
    else if (row.operation === "added" && row.path === rename.to) yield renamed(row, rename);
  }
}

function renamedRow(row: ListRow, rename: PlanRename): ListRow {
  const place = `${placeOf(rename.resource, rename.from)} → ${row.place}`;
  return { ...row, operation: "renamed", place, notes: renameNotes(rename).join(", ") };
}

function renamedStat(row: StatRow, rename: PlanRename): StatRow {
  const from = `renamed from ${placeOf(rename.resource, rename.from)}`;
  return { ...row, operation: "renamed", text: [from, ...renameNotes(rename)].join(", ") };
}

function renameNotes({ kind, entries }: PlanRename): readonly string[] {
  if (entries === undefined) return kind === "file" ? [] : [kind];
  return [kind, `${entries} ${entries === 1 ? "entry" : "entries"}`];
}

/** One change as a line, and a line for each of its warnings. */
function* rowLines(row: ListRow, width: number, styles: Styles): Generator<string> {
  const { operation, place, notes } = row;
  const letter = colourOf(operation, styles)(LETTERS[operation]);
  yield `${letter}  ${notes === "" ? place : `${padded(place, width)}  ${styles.dim(notes)}`}`;
  yield* warningLines(row, styles);
}

function* warningLines({ warnings = [] }: Pick<ListRow, "warnings">, styles: Styles): Generator<string> {
  for (const warning of warnings) yield `   ${styles.yellow("warning:")} ${oneLine(warning)}`;
}

/** The warnings and self-running files of a diff, which the patch itself does not show. */
export function* patchNotes({ changes, selfRunning }: PlanDiff, styles: Styles): Generator<string> {
  for (const { resource, path, warnings = [] } of changes)
    for (const warning of warnings)
      yield `${styles.yellow("warning:")} ${placeOf(resource, path)}: ${oneLine(warning)}`;
  yield* selfRunningLines(selfRunning, styles);
}

/** The last lines of a diff: what it comes to, and its digest if it could land. */
export function* endLines(diff: PlanDiff, withDigest: boolean, styles: Styles): Generator<string> {
  yield summaryLine(diff);
  if (diff.saved !== undefined) yield* savedLines(diff.saved, styles);
  else if (withDigest && diff.landed === undefined) yield styles.dim(`digest ${diff.digest}`);
}

/** What a diff comes to. */
function summaryLine(diff: PlanDiff): string {
  return diff.landed === undefined ? changesLine(diff) : landedLine(diff, diff.landed);
}

/** Of an applied plan. Lines are not counted, because their content may be gone. */
function landedLine({ stats }: PlanDiff, { at, unlisted }: LandedView): string {
  const more = unlisted.map(
    ({ resource, changes }) => `${changes} more of ${displayPath(resource)}, not listed`,
  );
  const parts = [`${stats.added} added`, `${stats.modified} modified`, `${stats.deleted} deleted`, ...more];
  return `${parts.join(", ")}; landed at ${at}`;
}

function changesLine({ stats }: PlanDiff): string {
  if (stats.added + stats.modified + stats.deleted === 0) return "No changes.";
  const parts = [`${stats.added} added`, `${stats.modified} modified`, `${stats.deleted} deleted`];
  const lines = [counted(stats.insertions, "insertion", "+"), counted(stats.deletions, "deletion", "-")];
  const renamed = stats.renamed === undefined ? "" : `; ${stats.renamed} renamed`;
  return `${parts.join(", ")}; ${lines.join(", ")}${renamed}`;
}

function counted(count: number, what: string, sign: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}(${sign})`;
}

function statText(change: PlanChange): string | undefined {
  const { operation, binary, before = {}, after = {}, insertions = 0, deletions = 0 } = change;
  if (change.note !== undefined) return changeNotes(change).join(", ");
  if (binary) return `binary, ${sizes(before, after)}`;
  return insertions + deletions === 0 ? [operation, ...changeNotes(change)].join(", ") : undefined;
}

function widened(width: number, place: string): number {
  return Math.max(width, Math.min(textWidth(place), WIDEST_COLUMN));
}

function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(0, width - textWidth(text)));
}

function colourOf(operation: RowOperation, styles: Styles): (text: string) => string {
  if (operation === "added") return styles.green;
  return operation === "deleted" ? styles.red : styles.yellow;
}
