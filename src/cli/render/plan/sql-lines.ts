import type { DatabaseValue, StatementResult } from "../../../core/values/query.ts";
import { valueText } from "../../../database/common/row-json.ts";
import { oneLine } from "../../terminal/printable.ts";
import type { Styles } from "../styles.ts";
import { type Cell, textTable } from "../text-table.ts";

/**
 * The results of statements, as tables with an empty line between them. A statement without rows says how
 * many rows it changed, if any.
 */
export function* resultLines(results: readonly StatementResult[], styles: Styles): Generator<string> {
  let isFirst = true;
  for (const { columns, rows, changes } of results) {
    if (columns.length === 0 && changes === 0) continue;
    if (!isFirst) yield "";
    isFirst = false;
    if (columns.length > 0) yield* tableLines(columns, rows, styles);
    else yield styles.dim(`${changes} ${changes === 1 ? "row" : "rows"} changed`);
  }
}

function* tableLines(
  columns: readonly string[],
  rows: StatementResult["rows"],
  styles: Styles,
): Generator<string> {
  const header = columns.map((name): Cell => ({ text: oneLine(name), style: styles.bold }));
  yield* textTable([header, ...rows.map((row) => row.map((value) => cell(value, styles)))]);
  yield styles.dim(`(${rows.length} ${rows.length === 1 ? "row" : "rows"})`);
}

function cell(value: DatabaseValue, styles: Styles): Cell {
  const text = oneLine(valueText(value));
  return value === null ? { text, style: styles.dim } : { text };
}
