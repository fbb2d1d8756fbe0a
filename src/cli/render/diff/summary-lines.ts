import type { PlanChange, PlanDiff } from "../../../plans/plan-views.ts";
import { ChangeSummary, type FolderSummary, SUMMARY_FOLDERS } from "../../../plans/review/change-summary.ts";
import { placeOf } from "../plan/attention-line.ts";
import type { Styles } from "../styles.ts";
import { textTable } from "../text-table.ts";
import { type DiffLines, endLines } from "./diff-lines.ts";
import { selfRunningLines } from "./self-running-lines.ts";

const PLURALS = new Map([["directory", "directories"]]);

/** A diff by folders: a line for each, which counts everything below it. */
export class SummaryLines implements DiffLines {
  readonly #styles: Styles;
  readonly #summary = new ChangeSummary();

  constructor(styles: Styles) {
    this.#styles = styles;
  }

  add(change: PlanChange): void {
    this.#summary.add(change);
  }

  *lines(diff: PlanDiff): Generator<string> {
    const { bold, dim, green, red, yellow } = this.#styles;
    const folders = this.#summary.folders(SUMMARY_FOLDERS);
    const heads = ["FOLDER", "ADDED", "MODIFIED", "DELETED", "LINES", "KINDS"];
    const rows = folders.map((folder) => [
      placeOf(folder.resource, folder.path),
      { text: shown(folder.added), style: green },
      { text: shown(folder.modified), style: yellow },
      { text: shown(folder.deleted), style: red },
      linesText(folder),
      { text: [...notes(folder)].join(", "), style: dim },
    ]);
    if (rows.length > 0) yield* textTable([heads.map((text) => ({ text, style: bold })), ...rows]);
    yield* selfRunningLines(diff.selfRunning, this.#styles);
    yield* endLines(diff, rows.length > 0, this.#styles);
  }
}

function shown(count: number): string {
  return count === 0 ? "" : String(count);
}

function linesText({ insertions, deletions }: FolderSummary): string {
  return [insertions > 0 ? `+${insertions}` : "", deletions > 0 ? `-${deletions}` : ""]
    .filter((text) => text !== "")
    .join(" ");
}

function* notes({ kinds, warnings, unlisted }: FolderSummary): Generator<string> {
  for (const [kind, count] of Object.entries(kinds)) yield counted(count, kind);
  if (warnings !== undefined) yield counted(warnings, "warning");
  if (unlisted !== undefined) yield `${counted(unlisted, "folder")} in it not listed`;
}

function counted(count: number, what: string): string {
  return `${count} ${count === 1 ? what : (PLURALS.get(what) ?? `${what}s`)}`;
}
