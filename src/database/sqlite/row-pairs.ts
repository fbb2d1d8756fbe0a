import type { ChangedColumn } from "../../core/values/changed-rows.ts";
import type { DatabaseValue } from "../../core/values/query.ts";
import { columnList, conjunction, type Rows, sameValues } from "./row-comparison.ts";
import { type ChangedTable, type RecordedShape, recordedRows, SIDES, type Side } from "./sqlite-changes.ts";
import type { SqliteDatabase } from "./sqlite-database.ts";

/** The place of a row in the record, on each side that has it. */
export type RowPair = { readonly [side in Side]: number | undefined } & {
  readonly key: { readonly [side in Side]: readonly DatabaseValue[] };
};

/** A column of both sides, or of one: its place among the columns of each. */
export interface PairedColumn extends ChangedColumn {
  readonly at: { readonly [side in Side]: number };
}

type Sides<T> = { readonly [side in Side]: T };

const ROWID = "rowid";

/**
 * The recorded rows of a changed table, each beside the row of the other side that has its identity. A table
 * whose definition changed is recorded as a whole: of its rows those count that differ in a column of both
 * sides, or hold something in a column that only one side has.
 */
export class RowPairs {
  readonly columns: readonly PairedColumn[];
  readonly #db: SqliteDatabase;
  readonly #rows: Sides<Rows | undefined>;
  /** The places of the columns that identify a row; none if that is the rowid. */
  readonly #keys: Sides<readonly number[]>;
  readonly #whole: boolean;

  constructor(db: SqliteDatabase, record: string, table: ChangedTable) {
    this.#db = db;
    this.#whole = table.whole;
    const of = (side: Side) =>
      table[side] === undefined ? undefined : recordedRows(record, side, table.n, table[side]);
    this.#rows = { before: of("before"), after: of("after") };
    this.#keys = { before: keyColumns(table.before), after: keyColumns(table.after) };
    this.columns = this.#pairColumns(table);
  }

  /** How many rows there are, and of an altered table how many stay as they are. */
  count(): { readonly total: number; readonly same: number } {
    const count = (sql: string) => this.#db.number(`SELECT count(*) FROM (${sql})`);
    const total = count(this.#pairs(this.#differs()));
    return { total, same: this.#whole ? count(this.#pairs("TRUE")) - total : 0 };
  }

  /** The pairs in the order of their keys. */
  *each(): Generator<RowPair> {
    const keys = this.#keyCount;
    const order = Array.from({ length: keys }, (_, at) => `coalesce(a${at}, b${at})`).join(", ");
    for (const row of this.#db.eachRow(`SELECT * FROM (${this.#pairs(this.#differs())}) ORDER BY ${order}`)) {
      const place = (at: number) => (row[at] === null ? undefined : Number(row[at]));
      const key = { before: row.slice(2, 2 + keys), after: row.slice(2 + keys) };
      yield { before: place(0), after: place(1), key };
    }
  }

  /** The columns that differ between the rows of a pair, exactly. */
  changedIn({ before, after }: RowPair): readonly number[] {
    const { before: old, after: fresh } = this.#rows;
    if (before === undefined || after === undefined || old === undefined || fresh === undefined)
      return this.columns.map((_, at) => at);
    const same = this.columns.map(({ at, only }) => {
      if (only !== undefined) return `${only === "before" ? "b" : "a"}.c${at[only]} IS NULL`;
      return sameValues("b", { ...old, columns: [`c${at.before}`] }, "a", {
        ...fresh,
        columns: [`c${at.after}`],
      });
    });
    const found = inChunks(same).flatMap((some) => {
      const [row = []] = this.#db.rows(
        `SELECT ${some.join(", ")} FROM ${old.from} AS b, ${fresh.from} AS a WHERE b.rowid = ? AND a.rowid = ?`,
        ...[before, after],
      );
      return row;
    });
    return found.flatMap((isSame, at) => (Number(isSame) === 1 ? [] : [at]));
  }

  /** Expressions over the columns of one recorded row. */
  read(side: Side, rowid: number, expressions: (column: string) => readonly string[]): DatabaseValue[][] {
    const rows = this.#rows[side];
    const columns = this.columns.map(({ at }) => (at[side] < 0 ? "NULL" : `this.c${at[side]}`));
    return inChunks(columns).flatMap((some) => {
      const wanted = some.flatMap(expressions);
      const [found = []] = this.#db.rows(
        `SELECT ${wanted.join(", ")} FROM ${rows?.from} AS this WHERE this.rowid = ?`,
        rowid,
      );
      const width = wanted.length / some.length;
      return some.map((_, at) => found.slice(at * width, (at + 1) * width));
    });
  }

  /** Every recorded row of a side, in an order that the rows alone decide. */
  *recorded(side: Side): Generator<DatabaseValue[]> {
    const rows = this.#rows[side];
    if (rows === undefined) return;
    yield* this.#db.eachRow(
      `SELECT ${columnList("this", rows)} FROM ${rows.from} AS this ORDER BY this.k, this.c0`,
    );
  }

  #pairColumns({ name, before, after }: ChangedTable): readonly PairedColumn[] {
    const [old, fresh] = [before?.columns ?? [], after?.columns ?? []];
    const keys = new Set([
      ...this.#keyNames(name, "before", before),
      ...this.#keyNames(name, "after", after),
    ]);
    return [...new Set([...old, ...fresh])].map((column) => {
      const at = { before: old.indexOf(column), after: fresh.indexOf(column) };
      const isOnBoth = before === undefined || after === undefined || (at.before >= 0 && at.after >= 0);
      const only = at.after < 0 ? "before" : "after";
      return { name: column, isKey: keys.has(column), at, ...(!isOnBoth && { only }) } as const;
    });
  }

  /** The columns of the key. Where rows are told apart by their rowid, the column that stands for it. */
  #keyNames(table: string, side: Side, shape: RecordedShape | undefined): readonly string[] {
    if (shape === undefined) return [];
    if (shape.identity !== ROWID) return shape.identity.map(({ name }) => name);
    const database = side === "before" ? "base" : "main";
    const [only, ...more] = this.#db.rows(
      "SELECT name FROM pragma_table_xinfo(?, ?) WHERE pk > 0",
      ...[table, database],
    );
    const column = String(only?.[0]);
    const at = shape.columns.indexOf(column);
    if (at < 0 || more.length > 0) return [];
    const others = `SELECT EXISTS (SELECT 1 FROM ${this.#rows[side]?.from} WHERE c${at} IS NOT k)`;
    return this.#db.number(others) === 0 ? [column] : [];
  }

  get #keyCount(): number {
    return Math.max(1, ...SIDES.map((side) => this.#keys[side].length));
  }

  #keyOf(side: Side, alias: string): readonly string[] {
    const keys = this.#keys[side];
    return keys.length === 0 ? [`${alias}.k`] : keys.map((at) => `${alias}.c${at}`);
  }

  /** Places and keys of both sides, of the pairs for which this holds. */
  #pairs(condition: string): string {
    const { before: old, after: fresh } = this.#rows;
    const named = (alias: "b" | "a", is: boolean) => {
      const key = this.#keyOf(alias === "b" ? "before" : "after", alias);
      return Array.from(
        { length: this.#keyCount },
        (_, at) => `${is ? (key[at] ?? "NULL") : "NULL"} AS ${alias}${at}`,
      );
    };
    const select = (hasOld: boolean, hasFresh: boolean) =>
      `SELECT ${[hasOld ? "b.rowid" : "NULL", hasFresh ? "a.rowid" : "NULL", ...named("b", hasOld), ...named("a", hasFresh)].join(", ")}`;
    if (old === undefined) return `${select(false, true)} FROM ${fresh?.from} AS a`;
    if (fresh === undefined) return `${select(true, false)} FROM ${old.from} AS b`;
    const same = this.#sameIdentity();
    return [
      `${select(true, true)} FROM ${old.from} AS b JOIN ${fresh.from} AS a ON ${same} WHERE ${condition}`,
      `${select(true, false)} FROM ${old.from} AS b WHERE NOT EXISTS (SELECT 1 FROM ${fresh.from} AS a WHERE ${same})`,
      `${select(false, true)} FROM ${fresh.from} AS a WHERE NOT EXISTS (SELECT 1 FROM ${old.from} AS b WHERE ${same})`,
    ].join(" UNION ALL ");
  }

  /** Rows of tables that have other keys now stand alone. */
  #sameIdentity(): string {
    const names = SIDES.map((side) =>
      this.#keys[side].map((at) => this.columns.find((column) => column.at[side] === at)?.name),
    );
    const [old, fresh] = names.map((list) => JSON.stringify(list));
    if (old !== fresh) return "FALSE";
    const [before, after] = SIDES.map((side) => this.#keyOf(side, side === "before" ? "b" : "a"));
    return conjunction((before ?? []).map((column, at) => `${column} = ${after?.[at]}`));
  }

  #differs(): string {
    const { before: old, after: fresh } = this.#rows;
    if (!this.#whole || old === undefined || fresh === undefined) return "TRUE";
    const both = this.columns.filter(({ only }) => only === undefined);
    const rows = (side: Side, from: Rows) => ({ ...from, columns: both.map(({ at }) => `c${at[side]}`) });
    const empty = this.columns.flatMap(({ at, only }) =>
      only === undefined ? [] : [`${only === "before" ? "b" : "a"}.c${at[only]} IS NULL`],
    );
    return `NOT (${conjunction([sameValues("b", rows("before", old), "a", rows("after", fresh)), conjunction(empty)])})`;
  }
}

function keyColumns(shape: RecordedShape | undefined): readonly number[] {
  return shape === undefined || shape.identity === ROWID ? [] : shape.identity.map(({ at }) => at);
}

/** SQLite limits the columns of a result. */
const MOST_COLUMNS = 500;

function inChunks<T>(list: readonly T[]): readonly (readonly T[])[] {
  const count = Math.ceil(list.length / MOST_COLUMNS);
  return Array.from({ length: count }, (_, at) => list.slice(at * MOST_COLUMNS, (at + 1) * MOST_COLUMNS));
}
