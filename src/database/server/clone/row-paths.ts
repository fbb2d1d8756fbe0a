import { shortDigest } from "../../../system/data/short-digest.ts";
import type { RowChange, TableShape } from "./clone-changes.ts";
import { shownText } from "./shown-text.ts";

const LONGEST_KEY = 100;

/** The path of a table in a diff; tables without a schema, or of the schema `public`, have no prefix. */
export function tablePath({ schema, name }: Pick<TableShape, "schema" | "name">): string {
  return schema === "" || schema === "public" ? escaped(name) : `${escaped(schema)}.${escaped(name)}`;
}

/** The path of a row: its table and its key. A row without a key goes by the digest of its values. */
export function rowPath(table: TableShape, { before, after }: RowChange): string {
  const values = before ?? after ?? [];
  const key =
    table.key === undefined
      ? `#${shortDigest(JSON.stringify(values))}`
      : table.key.map((at) => escaped(keyText(table, at, values[at] ?? "NULL"))).join(",");
  const short = key.length <= LONGEST_KEY ? key : `${key.slice(0, LONGEST_KEY)}~${shortDigest(key)}`;
  return `${tablePath(table)}/${short}`;
}

function keyText({ columns }: TableShape, at: number, value: string): string {
  const column = columns[at];
  return column === undefined ? value : (shownText(column, value) ?? value);
}

function escaped(text: string): string {
  // Also the names "." and "..", which mean something else in a path.
  return text
    .replace(/[%/,\u0000-\u001f\u007f]/g, (character) => encodeURIComponent(character))
    .replace(/^\.{1,2}$/, (dots) => dots.replaceAll(".", "%2E"));
}
