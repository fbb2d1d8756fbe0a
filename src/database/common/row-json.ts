import type { DatabaseValue } from "../../core/values/query.ts";

/**
 * Rows as JSON without loss: an integer has all its digits; bytes are `{"base64": "…"}`; infinity is `1e999`,
 * which every parser reads as infinity.
 */
export function rowJson(columns: readonly string[], row: readonly DatabaseValue[]): string {
  const members = columns.map((column, at) => `${JSON.stringify(column)}:${valueJson(row[at] ?? null)}`);
  return `{${members.join(",")}}`;
}

function valueJson(value: DatabaseValue): string {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number" && !Number.isFinite(value)) return value > 0 ? "1e999" : "-1e999";
  if (value instanceof Uint8Array) return JSON.stringify({ base64: Buffer.from(value).toString("base64") });
  return JSON.stringify(value);
}

/** A value as people read it in a table. */
export function valueText(value: DatabaseValue): string {
  if (value === null) return "NULL";
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString("hex")}'`;
  return String(value);
}

/** A number, if it holds the value exactly. */
export function plainInteger(value: bigint): number | bigint {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}
