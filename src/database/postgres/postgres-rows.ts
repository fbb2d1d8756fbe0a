import { createHash } from "node:crypto";
import { UnsupportedError } from "../../core/errors/errors.ts";
import type {
  ChangedColumn,
  ChangedRow,
  ChangedRows,
  RowRange,
  ShownValue,
} from "../../core/values/changed-rows.ts";
import type { DatabaseValue } from "../../core/values/query.ts";

/**
 * # The rows that a held transaction changed in one table
 *
 * Two connections look: the one that holds the transaction (inside), and another one (outside), which sees
 * what is committed now. At the level REPEATABLE READ, the transaction can't change a row that another
 * session has changed since its snapshot, and nobody can change a row that it has changed. So the committed
 * version of such a row is the one that the transaction began with.
 *
 * - New versions: rows that the transaction sees and that have a number (`xmin`) given since its snapshot.
 *   Those of other sessions are not in its snapshot.
 * - Old versions: rows that outside sees with a mark of a deletion or lock (`xmax`), that are from before the
 *   snapshot, and that the transaction does not see at their place (`ctid`).
 *
 * Both are found by reading the whole table once, within a time limit. They are paired by the primary key;
 * without one, a changed row is a deleted and an added one.
 */
export type Look = (sql: string) => Promise<readonly (readonly DatabaseValue[])[]>;

/** More rows are not listed. */
const MOST_ROWS = 20_000;
/** How many bytes of a value are shown. */
const MOST_OF_VALUE = 512;
const NUMBERS = 4294967296n;

interface LookedTable {
  /** Its name with its schema, as SQL. */
  readonly name: string;
  readonly columns: readonly (ChangedColumn & { readonly type: string })[];
  /** The first transaction number that the snapshot does not know, and those under way at that time. */
  readonly since: bigint;
  readonly underWay: string;
  /** The transaction has made it. */
  readonly isNew: boolean;
}

interface Version {
  readonly ctid: string;
  /** The texts of the columns of its key. */
  readonly key: readonly string[];
}

/** A changed row, by the places of its versions. */
interface Pair {
  readonly key: readonly string[];
  readonly before?: string;
  readonly after?: string;
}

export async function postgresRows(
  looks: { readonly inside: Look; readonly outside: Look },
  table: string,
  range: RowRange,
): Promise<ChangedRows> {
  const found = await lookedTable(looks, table);
  const pairs = await pairsOf(looks, found);
  const hash = createHash("sha256").update(JSON.stringify([found.name, found.columns, pairs]));
  const shown = pairs.slice(range.offset, range.offset + range.limit);
  const placesOf = (side: "before" | "after") => shown.flatMap((pair) => pair[side] ?? []);
  const before = await valuesAt(looks.outside, found, placesOf("before"));
  const after = await valuesAt(looks.inside, found, placesOf("after"));
  return {
    definitions: [],
    columns: found.columns.map(({ type: _, ...column }) => column),
    rows: shown.map((pair) => rowOf(table, pair, before.get(pair.before ?? ""), after.get(pair.after ?? ""))),
    total: pairs.length,
    same: 0,
    digest: hash.digest("hex"),
  };
}

async function lookedTable(
  { inside, outside }: { readonly inside: Look; readonly outside: Look },
  table: string,
) {
  const [facts] = await inside(
    `SELECT c.oid::text, c.relkind::text, format('%I.%I', n.nspname, c.relname), txid_snapshot_xmax(s.now)::text,
       (SELECT coalesce(string_agg((x % ${NUMBERS})::text, ','), '') FROM txid_snapshot_xip(s.now) AS x),
       EXISTS (SELECT 1 FROM pg_locks AS l WHERE l.locktype = 'relation' AND l.relation = c.oid AND l.granted
         AND l.pid = pg_backend_pid() AND l.mode = 'AccessExclusiveLock')::int::text
     FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace, (SELECT txid_current_snapshot() AS now) AS s
     WHERE c.oid = to_regclass(${literal(table)})`,
  );
  if (facts?.[1] !== "r") throw notShown(`${table} is no table with rows of its own`);
  const [oid, , name, since, underWay, isLocked] = facts.map(String);
  const isNew = (await outside(`SELECT 1 FROM pg_class WHERE oid = ${oid}`)).length === 0;
  if (isLocked === "1" && !isNew)
    throw notShown(
      `the plan has altered, emptied or locked ${name} as a whole, so its earlier rows can't be seen`,
    );
  const columns = await inside(
    `SELECT a.attname, t.typname, coalesce(a.attnum = ANY (i.indkey), false)::int::text FROM pg_attribute AS a
     JOIN pg_type AS t ON t.oid = a.atttypid LEFT JOIN pg_index AS i ON i.indrelid = a.attrelid AND i.indisprimary
     WHERE a.attrelid = ${oid} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`,
  );
  return {
    name: name ?? table,
    columns: columns.map(([column, type, key]) => ({
      ...{ name: String(column), type: String(type), isKey: key === "1" },
    })),
    since: BigInt(since ?? 0),
    underWay: underWay ?? "",
    isNew,
  } satisfies LookedTable;
}

async function pairsOf(
  { inside, outside }: { readonly inside: Look; readonly outside: Look },
  table: LookedTable,
): Promise<readonly Pair[]> {
  // Every number that either connection sees is smaller.
  const [next] = await outside("SELECT txid_current()::text");
  const numbers = `((xmin::text::bigint - ${table.since % NUMBERS} + ${NUMBERS}) % ${NUMBERS})`;
  const isSince = `${numbers} < ${BigInt(String(next?.[0] ?? 0)) - table.since}`;
  const isEarlier = `xmax::text <> '0' AND NOT ${isSince} AND xmin::text::bigint <> ALL ('{${table.underWay}}'::bigint[])`;
  const [fresh, marked] = [
    await versions(inside, table, isSince),
    table.isNew ? [] : await versions(outside, table, isEarlier),
  ];
  // After four thousand million transactions, numbers come again.
  const known = table.isNew ? new Set() : await seenAt(outside, table, fresh);
  const seen = await seenAt(inside, table, marked);
  return paired(
    marked.filter(({ ctid }) => !seen.has(ctid)),
    fresh.filter(({ ctid }) => !known.has(ctid)),
    table.columns.some(({ isKey }) => isKey),
  );
}

async function versions(look: Look, { name, columns }: LookedTable, condition: string): Promise<Version[]> {
  const key = columns.filter(({ isKey }) => isKey).map((column) => `${quoted(column.name)}::text`);
  const rows = await look(
    `SELECT ${["ctid::text", ...key].join(", ")} FROM ONLY ${name} WHERE ${condition} LIMIT ${MOST_ROWS + 1}`,
  );
  if (rows.length > MOST_ROWS) throw notShown(`more than ${MOST_ROWS} rows of ${name} change`);
  return rows.map(([ctid, ...values]) => ({ ctid: String(ctid), key: values.map(String) }));
}

/** Which of these places have a row that this connection sees. */
async function seenAt(
  look: Look,
  { name }: LookedTable,
  at: readonly Version[],
): Promise<ReadonlySet<string>> {
  if (at.length === 0) return new Set();
  const rows = await look(
    `SELECT ctid::text FROM ONLY ${name} WHERE ctid = ANY (${places(at.map(({ ctid }) => ctid))})`,
  );
  return new Set(rows.map(([ctid]) => String(ctid)));
}

function paired(old: readonly Version[], fresh: readonly Version[], hasKey: boolean): readonly Pair[] {
  const keyOf = ({ key, ctid }: Version) => (hasKey ? key : [ctid]);
  const pairs = new Map<string, Pair>();
  for (const version of old)
    pairs.set(JSON.stringify([hasKey ? "" : "before", keyOf(version)]), {
      key: keyOf(version),
      before: version.ctid,
    });
  for (const version of fresh) {
    const name = JSON.stringify([hasKey ? "" : "after", keyOf(version)]);
    pairs.set(name, { ...pairs.get(name), key: keyOf(version), after: version.ctid });
  }
  return [...pairs.values()].sort(comparedKeys);
}

const INTEGER = /^-?\d+$/;

/** Orders rows by their keys: integers by value, everything else as text. */
function comparedKeys(a: Pair, b: Pair): number {
  for (const [at, left] of a.key.entries()) {
    const right = b.key[at] ?? "";
    if (left === right) continue;
    const areIntegers = INTEGER.test(left) && INTEGER.test(right);
    return (areIntegers ? BigInt(left) < BigInt(right) : left < right) ? -1 : 1;
  }
  return 0;
}

type Values = readonly { readonly shown: ShownValue; readonly digest: string }[];

/** The values of the rows at these places. */
async function valuesAt(
  look: Look,
  { name, columns }: LookedTable,
  at: readonly string[],
): Promise<ReadonlyMap<string, Values>> {
  if (at.length === 0) return new Map();
  const parts = columns.flatMap((column) => valueExpressions(quoted(column.name), column.type));
  const rows = await look(
    `SELECT ${["ctid::text", ...parts].join(", ")} FROM ONLY ${name} WHERE ctid = ANY (${places(at)})`,
  );
  const valuesOf = (row: readonly DatabaseValue[]) =>
    columns.map(({ type }, index) => shownValue(type, row.slice(index * 3, index * 3 + 3)));
  return new Map(rows.map(([ctid, ...row]) => [String(ctid), valuesOf(row)]));
}

/** The beginning of a value, its size, and its digest if it is cut. */
function valueExpressions(column: string, type: string): readonly string[] {
  const bytes = type === "bytea" ? column : `convert_to(${column}::text, 'UTF8')`;
  const start =
    type === "bytea"
      ? `encode(substring(${column} FROM 1 FOR ${MOST_OF_VALUE}), 'hex')`
      : `left(${column}::text, ${MOST_OF_VALUE})`;
  const isCut = `octet_length(${bytes}) > ${MOST_OF_VALUE}`;
  return [
    start,
    `octet_length(${bytes})::text`,
    `CASE WHEN ${isCut} THEN encode(sha256(${bytes}), 'hex') END`,
  ];
}

const INTEGERS = ["int2", "int4", "int8", "oid"];
const REALS = ["float4", "float8", "numeric"];

function shownValue(type: string, [start = null, size, digest]: readonly DatabaseValue[]) {
  if (start === null) return { shown: { type: "null", text: "NULL" } as const, digest: "" };
  const text = String(start);
  const kind =
    type === "bytea" ? "bytes" : INTEGERS.includes(type) ? "integer" : REALS.includes(type) ? "real" : "text";
  const length = type === "bytea" ? text.length / 2 : Buffer.byteLength(text);
  const shown: ShownValue = { type: kind, text, ...(length < Number(size) && { size: Number(size) }) };
  return { shown, digest: String(digest ?? "") };
}

function rowOf(
  table: string,
  { key }: Pair,
  before: Values | undefined,
  after: Values | undefined,
): ChangedRow {
  const count = (before ?? after ?? []).length;
  const isSame = (at: number) => JSON.stringify(before?.[at]) === JSON.stringify(after?.[at]);
  return {
    path: `${table}/${key.join(",")}`,
    operation: before === undefined ? "added" : after === undefined ? "deleted" : "modified",
    ...(before !== undefined && { before: before.map(({ shown }) => shown) }),
    ...(after !== undefined && { after: after.map(({ shown }) => shown) }),
    changed: Array.from({ length: count }, (_, at) => at).filter((at) => !isSame(at)),
  };
}

function notShown(why: string): UnsupportedError {
  return new UnsupportedError(`The rows can't be shown: ${why}.`, { hint: "See the statements." });
}

function places(ctids: readonly string[]): string {
  return `'{${ctids.map((ctid) => `"${ctid}"`).join(",")}}'::tid[]`;
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function literal(text: string): string {
  return `'${text.replaceAll("'", "''")}'`;
}
