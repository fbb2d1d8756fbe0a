import type { DatabaseValue, StatementResult } from "../../core/values/query.ts";

/**
 * The results for programs: rows are lists in the order of the columns. Integers have all their digits,
 * whatever their size; bytes are `{ base64 }`.
 */
export function jsonResults(results: readonly StatementResult[]) {
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
