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

/**
 * The results for programs: rows are lists in the order of the columns. Integers have all their digits,
 * whatever their size; bytes are `{ base64 }`.
 */
export function jsonResults(results: readonly StatementResult[]): object[] {
  return results.map(({ columns, rows, changes }) => ({
    columns,
    rows: rows.map((row) => row.map(jsonValue)),
    changes,
  }));
}

function jsonValue(value: DatabaseValue): unknown {
  if (typeof value === "bigint") return rawJson(value.toString());
  if (typeof value === "number" && !Number.isFinite(value)) return rawJson(value > 0 ? "1e999" : "-1e999");
  return value instanceof Uint8Array ? { base64: Buffer.from(value).toString("base64") } : value;
}

/** A text that JSON.stringify writes unchanged. */
function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);
}
