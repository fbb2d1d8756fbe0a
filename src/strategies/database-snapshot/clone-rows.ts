import { createHash } from "node:crypto";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath } from "../../core/paths/byte-path.ts";
import type {
  ChangedDefinition,
  ChangedRow,
  ChangedRows,
  RowRange,
  ShownValue,
} from "../../core/values/changed-rows.ts";
import type {
  CloneWork,
  RowChange,
  RowValues,
  TableChange,
  TableColumn,
} from "../../database/server/clone/clone-changes.ts";
import { rowPath, tablePath } from "../../database/server/clone/row-paths.ts";
import { shownText } from "../../database/server/clone/shown-text.ts";
import { sequencePath } from "./clone-diff.ts";

/** How many bytes of a value are shown, and how many of a definition. */
const MOST_OF_VALUE = 512;
const MOST_OF_DEFINITION = 256 * 1024;
/** A page ends with the row that makes it larger than this, in characters. */
const LARGEST_PAGE = 4 * 1024 * 1024;

/** The changed rows and definitions at a path of the diff (clone-diff.ts). */
export function cloneRows({ definitions, changes }: CloneWork, path: string, range: RowRange): ChangedRows {
  const shown: ChangedDefinition[] = [
    ...definitions
      .filter((change) => change.path === path)
      .map(({ type, before, after }) => definition(type.toLowerCase(), before?.sql, after?.sql)),
    ...changes.sequences
      .filter((sequence) => sequencePath(sequence) === path)
      .map(({ before, after }) => definition("number", before, after)),
  ];
  const table = changes.tables.find((each) => isOf(path, tablePath(each)));
  const rows = table?.rows.filter((row) => path === tablePath(table) || path === rowPath(table, row)) ?? [];
  if (shown.length === 0 && rows.length === 0)
    throw new UsageError(`The plan changes nothing at '${displayPath(path)}' of the database.`, {
      hint: "The diff lists what it changes.",
      code: "NO_SUCH_FILE",
    });
  const hash = createHash("sha256").update(JSON.stringify([shown, rows]));
  return {
    definitions: shown,
    columns: (table?.columns ?? []).map(({ name }, at) => ({
      name,
      isKey: table?.key?.includes(at) === true,
    })),
    rows: table === undefined ? [] : page(table, rows, range),
    total: rows.length,
    same: 0,
    digest: hash.digest("hex"),
  };
}

function isOf(path: string, table: string): boolean {
  return path === table || path.startsWith(`${table}/`);
}

function page(table: TableChange, rows: readonly RowChange[], { offset, limit }: RowRange): ChangedRow[] {
  const shown: ChangedRow[] = [];
  let size = 0;
  for (const row of rows.slice(offset, offset + limit)) {
    const one = shownRow(table, row);
    size += JSON.stringify(one).length;
    shown.push(one);
    if (size > LARGEST_PAGE) break;
  }
  return shown;
}

function shownRow(table: TableChange, row: RowChange): ChangedRow {
  const { before, after } = row;
  const side = (values: RowValues) => values.map((value, at) => shownValue(table.columns[at], value));
  return {
    path: rowPath(table, row),
    operation: before === undefined ? "added" : after === undefined ? "deleted" : "modified",
    ...(before !== undefined && { before: side(before) }),
    ...(after !== undefined && { after: side(after) }),
    changed: table.columns.flatMap((_, at) => (before?.[at] === after?.[at] ? [] : [at])),
  };
}

function shownValue(column: TableColumn | undefined, value: string | null): ShownValue {
  if (value === null) return { type: "null", text: "NULL" };
  const known = column === undefined ? value : shownText(column, value);
  const isBytes = known === undefined;
  const kind = isBytes ? "bytes" : column?.kind === "bytes" ? "text" : (column?.kind ?? "text");
  const text = known ?? value.replace(/^\\x/, "");
  const bytes = isBytes ? text.length / 2 : Buffer.byteLength(text);
  if (bytes <= MOST_OF_VALUE) return { type: kind, text };
  return {
    type: kind,
    text: isBytes ? text.slice(0, MOST_OF_VALUE * 2) : cut(text, MOST_OF_VALUE),
    size: bytes,
  };
}

function definition(type: string, before: string | undefined, after: string | undefined): ChangedDefinition {
  const shown = (sql: string): ShownValue => {
    const text = cut(sql.trim(), MOST_OF_DEFINITION);
    const size = Buffer.byteLength(sql.trim());
    return { type: "text", text, ...(Buffer.byteLength(text) < size && { size }) };
  };
  return {
    type,
    ...(before !== undefined && { before: shown(before) }),
    ...(after !== undefined && { after: shown(after) }),
  };
}

/** The beginning of a text, in whole characters. */
function cut(text: string, bytes: number): string {
  const whole = Buffer.from(text);
  return whole.length <= bytes
    ? text
    : whole
        .subarray(0, bytes)
        .toString()
        .replace(/\ufffd+$/, "");
}
