import { isUtf8 } from "node:buffer";
import { createHash } from "node:crypto";
import { UnsupportedError } from "../../../core/errors/errors.ts";
import type { RowValues } from "../../server/clone/clone-changes.ts";
import type { RawRow } from "../mysql-connection.ts";
import { quotedName } from "../quoting.ts";
import { isNumber, keyColumns, type MysqlColumn, type MysqlTable } from "./table-shapes.ts";

/**
 * How values are read and written, in a session of `beExact` and `asStored`: each value has one text, from
 * which the server makes the same value. Bytes, and text that is not stored as UTF-8, are hexadecimal.
 */

/** What to select for a column. Of a `float` the server shows only six digits, unless it is a double. */
export function selected(column: MysqlColumn): string {
  const name = quotedName(column.name);
  return column.base === "float" ? `${name} + 0e0` : name;
}

/** The text of a value. */
function textOf(column: MysqlColumn, value: Buffer | null): string | null {
  if (value === null) return null;
  if (column.kind === "bytes") return value.toString("hex");
  if (isUtf8(value)) return value.toString();
  throw new UnsupportedError(
    `A value of the column ${column.name} is not text in the character set of its column.`,
    { hint: "Mend the value in the original; it can't be copied or landed exactly." },
  );
}

export function valuesOf({ columns }: MysqlTable, row: RawRow): RowValues {
  return columns.map((column, at) => textOf(column, row[at] ?? null));
}

/** A value as SQL writes it. */
export function valueLiteral(column: MysqlColumn, value: string | null): string {
  if (value === null) return "NULL";
  const { base, kind, stored } = column;
  if (base === "bit") return String(BigInt(`0x${value}`));
  if (stored !== undefined) return `_${stored.characterSet} x'${kind === "bytes" ? value : hex(value)}'`;
  if (kind === "bytes") return `x'${value}'`;
  if (!/^[-+0-9a-f:. ]*$/.test(value)) throw new Error(`No value of the type ${column.type}: ${value}`);
  if (!isNumber(column)) return `'${value}'`;
  // Without an exponent it would be a decimal, whose digits are limited.
  return (base === "float" || base === "double") && !value.includes("e") ? `${value}e0` : value;
}

/** The same to compare a column with, such that an index of the column serves. */
export function comparedLiteral(column: MysqlColumn, value: string | null): string {
  const written = valueLiteral(column, value);
  return column.stored === undefined || value === null
    ? written
    : `${written} COLLATE ${column.stored.collation}`;
}

/** The SQL for a text of the key, in hexadecimal, which sorts by its bytes. */
export function keySql(table: MysqlTable): string {
  if (table.key === undefined) return digestSql(table);
  const parts = keyColumns(table).map((column) => `HEX(CAST(${selected(column)} AS BINARY))`);
  return `CAST(CONCAT_WS(',', ${parts.join(", ")}) AS BINARY)`;
}

/** The same of values that were read. */
export function keyOf(table: MysqlTable, values: RowValues): string {
  if (table.key === undefined) return digestOf(table, values);
  return table.key
    .map((at) =>
      bytesOf(table.columns[at] as MysqlColumn, values[at] ?? "")
        .toString("hex")
        .toUpperCase(),
    )
    .join(",");
}

/** The values of a key from its text. */
export function keyValues(table: MysqlTable, key: string): (string | null)[] {
  const parts = key.split(",");
  return keyColumns(table).map((column, n) => textOf(column, Buffer.from(parts[n] ?? "", "hex")));
}

/** The SQL for the digest of a row. Large values are never put together: the server limits its texts. */
export function digestSql({ columns }: MysqlTable): string {
  const each = columns.map((column) => `IFNULL(SHA2(CAST(${selected(column)} AS BINARY), 256), '~')`);
  return `SHA2(CONCAT(${each.join(", ")}), 256)`;
}

/** The same of values that were read. */
function digestOf({ columns }: MysqlTable, values: RowValues): string {
  const each = columns.map((column, at) => {
    const value = values[at] ?? null;
    return value === null ? "~" : sha256(bytesOf(column, value));
  });
  return sha256(Buffer.from(each.join("")));
}

function bytesOf({ kind }: MysqlColumn, value: string): Buffer {
  return Buffer.from(value, kind === "bytes" ? "hex" : "utf8");
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

function hex(text: string): string {
  return Buffer.from(text).toString("hex");
}
