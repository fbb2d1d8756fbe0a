import { createHash } from "node:crypto";
import { UsageError } from "../../core/errors/errors.ts";
import { displayPath, pathFromBytes } from "../../core/paths/byte-path.ts";
import type {
  ChangedDefinition,
  ChangedRow,
  ChangedRows,
  RowRange,
  ShownValue,
} from "../../core/values/changed-rows.ts";
import type { DatabaseValue } from "../../core/values/query.ts";
import { rowJson } from "../../database/common/row-json.ts";
import { escapedName, rowPath } from "../../database/sqlite/landing-conflicts.ts";
import { type RowPair, RowPairs } from "../../database/sqlite/row-pairs.ts";
import {
  type ChangedTable,
  changedTables,
  recordedObjects,
  SIDES,
  type Side,
} from "../../database/sqlite/sqlite-changes.ts";
import type { SqliteDatabase } from "../../database/sqlite/sqlite-database.ts";

/** How many bytes of a value are shown, and how many of a definition. */
const MOST_OF_VALUE = 512;
const MOST_OF_DEFINITION = 256 * 1024;
/** A page ends with the row that makes it larger than this, in characters. */
const LARGEST_PAGE = 4 * 1024 * 1024;

/**
 * The changed rows and definitions at a path of the diff (sqlite-diff.ts), from the record that is attached
 * as `out`.
 */
export function sqliteRows(db: SqliteDatabase, path: string, range: RowRange): ChangedRows {
  const definitions = [...changedDefinitions(db, path)];
  const table = changedTables(db, "out").find(({ name, whole }) =>
    whole ? escapedName(name) === path : isOf(path, name),
  );
  const hash = createHash("sha256").update(JSON.stringify(definitions));
  const none = { columns: [], rows: [], total: 0, same: 0 };
  if (table === undefined && definitions.length === 0) throw notChanged(path);
  const found = table === undefined ? none : rowsAt(db, table, path, range);
  if (table !== undefined) addRecorded(hash, new RowPairs(db, "out", table));
  return { definitions, ...found, digest: hash.digest("hex") };
}

function isOf(path: string, table: string): boolean {
  return path === escapedName(table) || path.startsWith(`${escapedName(table)}/`);
}

function rowsAt(db: SqliteDatabase, table: ChangedTable, path: string, { offset, limit }: RowRange) {
  const pairs = new RowPairs(db, "out", table);
  const reader = new ValueReader(db, pairs);
  const isOne = path !== escapedName(table.name);
  const rows: ChangedRow[] = [];
  let [at, size] = [0, 0];
  for (const pair of pairs.each()) {
    if (isOne && !SIDES.some((side) => pair[side] !== undefined && pathOf(table, pair, side) === path))
      continue;
    at += 1;
    if (at <= offset) continue;
    if (rows.length >= limit || size > LARGEST_PAGE) break;
    const row = reader.row(pair, pathOf(table, pair, pair.after === undefined ? "before" : "after"));
    rows.push(row);
    size += sizeOf(row);
  }
  if (isOne && rows.length === 0 && offset === 0) throw notChanged(path);
  const { total, same } = isOne ? { total: Math.max(at, rows.length), same: 0 } : pairs.count();
  const columns = pairs.columns.map(({ at: _, ...column }) => column);
  return { columns, rows, total, same };
}

function pathOf({ name }: ChangedTable, { key }: RowPair, side: Side): string {
  return rowPath(name, key[side]);
}

function sizeOf({ before = [], after = [] }: ChangedRow): number {
  return [...before, ...after].reduce((sum, value) => sum + (value?.text.length ?? 0), 0);
}

/** Objects of the schema with this path, and the numbers and statistics that a diff lists like them. */
function* changedDefinitions(db: SqliteDatabase, path: string): Generator<ChangedDefinition> {
  for (const { type, name, before, after } of recordedObjects(db, "out"))
    if (escapedName(name) === path && before !== after) yield sidesOf(type, before, after);
  const numbers = db.rows(
    "SELECT name, before, after FROM out.numbers UNION ALL SELECT 'sqlite_sequence/' || name, before, after FROM out.sequences",
  );
  for (const [name, before = null, after = null] of numbers)
    if (name === path) yield sidesOf("number", textOf(before), textOf(after));
  if (path !== "sqlite_stat1") return;
  const [before, after] = SIDES.map((side) =>
    db
      .rows(
        `SELECT tbl, idx, stat FROM out.statistics WHERE side = '${side}' AND tbl IS NOT NULL ORDER BY 1, 2`,
      )
      .map((row) => `${rowJson(["tbl", "idx", "stat"], row)}\n`)
      .join(""),
  );
  if (before !== after) yield sidesOf("statistics", before, after);
}

function textOf(value: DatabaseValue): string | undefined {
  return value === null ? undefined : String(value);
}

function sidesOf(type: string, before: string | undefined, after: string | undefined): ChangedDefinition {
  const shown = (text: string) => shownText(Buffer.from(text), Buffer.byteLength(text), MOST_OF_DEFINITION);
  return {
    type,
    ...(before !== undefined && { before: shown(before) }),
    ...(after !== undefined && { after: shown(after) }),
  };
}

/** Reads values without taking more of them into memory than is shown. */
class ValueReader {
  readonly #pairs: RowPairs;
  readonly #encoding: string;

  constructor(db: SqliteDatabase, pairs: RowPairs) {
    this.#pairs = pairs;
    this.#encoding = String(db.value("PRAGMA main.encoding")).toLowerCase();
  }

  row(pair: RowPair, path: string): ChangedRow {
    const { before, after } = pair;
    return {
      path,
      operation: before === undefined ? "added" : after === undefined ? "deleted" : "modified",
      ...(before !== undefined && { before: this.#side("before", before) }),
      ...(after !== undefined && { after: this.#side("after", after) }),
      changed: this.#pairs.changedIn(pair),
    };
  }

  #side(side: Side, rowid: number): readonly (ShownValue | null)[] {
    const { columns } = this.#pairs;
    return this.#pairs.read(side, rowid, valueExpressions).map((value, at) => {
      const isThere = columns[at]?.only === undefined || columns[at].only === side;
      return isThere ? this.#shown(value) : null;
    });
  }

  #shown([type, content = null, size]: readonly DatabaseValue[]): ShownValue {
    if (content === null) return { type: "null", text: "NULL" };
    if (!(content instanceof Uint8Array)) return { type: type as "integer" | "real", text: String(content) };
    const length = Number(size);
    if (type === "text")
      return this.#encoding === "utf-8"
        ? shownText(content, length, MOST_OF_VALUE)
        : { type: "text", text: new TextDecoder(this.#encoding).decode(content), ...cut(content, length) };
    return { type: "bytes", text: Buffer.from(content).toString("hex"), ...cut(content, length) };
  }
}

/** As bytes, because SQLite's functions of texts end at a NUL, and JavaScript would change invalid text. */
function valueExpressions(column: string): readonly string[] {
  const start = `substr(CAST(${column} AS BLOB), 1, ${MOST_OF_VALUE})`;
  return [
    `typeof(${column})`,
    `CASE WHEN typeof(${column}) IN ('text', 'blob') THEN ${start} ELSE ${column} END`,
    `octet_length(${column})`,
  ];
}

function cut(content: Uint8Array, size: number): { readonly size?: number } {
  return content.length < size ? { size } : {};
}

/** The beginning of a text, without the part of a character at its end. */
function shownText(content: Uint8Array, size: number, most: number): ShownValue {
  const isCut = size > Math.min(content.length, most);
  const bytes = content.subarray(0, most);
  return {
    type: "text",
    text: pathFromBytes(isCut ? wholeCharacters(bytes) : bytes),
    ...(isCut && { size }),
  };
}

function wholeCharacters(bytes: Uint8Array): Uint8Array {
  const lead = bytes.findLastIndex((byte) => (byte & 0xc0) !== 0x80);
  const first = bytes[lead] ?? 0;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;
  return lead + length > bytes.length && bytes.length - lead < 4 ? bytes.subarray(0, lead) : bytes;
}

function addRecorded(hash: ReturnType<typeof createHash>, pairs: RowPairs): void {
  const columns = pairs.columns.map((column) => column.name);
  for (const side of SIDES) {
    hash.update(`\n${side}`);
    for (const row of pairs.recorded(side)) hash.update(`\n${rowJson(["", ...columns], row)}`);
  }
}

function notChanged(path: string): UsageError {
  return new UsageError(`The plan changes no row or definition called ${displayPath(path)}.`, {
    hint: "See the diff of the plan.",
    code: "NO_MATCH",
  });
}
