import type { Conflict } from "../../../core/errors/errors.ts";
import type { RowChange, RowValues, TableChange } from "../../server/clone/clone-changes.ts";
import { rowPath } from "../../server/clone/row-paths.ts";
import { quotedName } from "../clone/quoting.ts";
import type { PostgresConnection } from "../postgres-connection.ts";
import { isGiven, rowText, tableName } from "./table-shapes.ts";

/** As many rows as a statement takes. */
const PAGE = 5000;
/** People do not read more. */
const MOST_NAMED = 100;

/** The three things that happen to rows. */
export type RowStep = "insert" | "update" | "delete";

/**
 * Lands one kind of changes of a table, in a transaction of `beginExact`. Each row that goes or changes must
 * be as it was, in every checked column; returns those that are not.
 */
export async function landRows(
  connection: PostgresConnection,
  table: TableChange,
  step: RowStep,
): Promise<Conflict[]> {
  const rows = table.rows.filter((row) => stepOf(row) === step);
  const conflicts: Conflict[] = [];
  for (let at = 0; at < rows.length && conflicts.length < MOST_NAMED; at += PAGE) {
    const page = rows.slice(at, at + PAGE);
    if (step === "insert") await insertRows(connection, table, page);
    else {
      const done = await (table.key === undefined
        ? deleteCopies
        : step === "delete"
          ? deleteRows
          : updateRows)(connection, table, page);
      const missing = page.filter((_, n) => !done.has(n));
      conflicts.push(
        ...missing.map((row) => ({
          path: rowPath(table, row),
          why: "another session has changed or deleted it",
        })),
      );
    }
  }
  return conflicts.slice(0, MOST_NAMED);
}

/** The rows that come, and that another session has added meanwhile. */
export async function takenKeys(connection: PostgresConnection, table: TableChange): Promise<Conflict[]> {
  if (table.key === undefined) return [];
  const rows = table.rows.filter((row) => stepOf(row) === "insert");
  const conflicts: Conflict[] = [];
  for (let at = 0; at < rows.length && conflicts.length < MOST_NAMED; at += PAGE) {
    const page = rows.slice(at, at + PAGE);
    const given = new Given(page).add("k", table.key, ({ after }) => after);
    const found = await connection.run(
      `SELECT given.n FROM ONLY ${tableName(table)} AS this JOIN ${given.sql} ON ${sameKey(table, "k")}`,
      given.parameters,
    );
    for (const [n] of found.rows) {
      const row = page[Number(n)];
      if (row !== undefined)
        conflicts.push({ path: rowPath(table, row), why: "another session has added it" });
    }
  }
  return conflicts;
}

function stepOf({ before, after }: RowChange): RowStep {
  return before === undefined ? "insert" : after === undefined ? "delete" : "update";
}

/** Rows as a relation: their numbers, and columns of text. */
class Given {
  readonly parameters: unknown[];
  readonly #page: readonly RowChange[];
  readonly #names = ["n"];

  constructor(page: readonly RowChange[]) {
    this.#page = page;
    this.parameters = [page.map((_, n) => String(n))];
  }

  /** Adds these columns of one side, as `PREFIX` and their number. */
  add(prefix: string, columns: readonly number[], side: (row: RowChange) => RowValues | undefined): this {
    for (const at of columns) {
      this.#names.push(`${prefix}${at}`);
      this.parameters.push(this.#page.map((row) => side(row)?.[at] ?? null));
    }
    return this;
  }

  get sql(): string {
    const arrays = this.parameters.map((_, at) => `$${at + 1}::text[]`);
    return `unnest(${arrays.join(", ")}) AS given(${this.#names.join(", ")})`;
  }
}

async function insertRows(
  connection: PostgresConnection,
  table: TableChange,
  page: readonly RowChange[],
): Promise<void> {
  const rows = page.flatMap((row) => Array<RowChange>(row.copies ?? 1).fill(row));
  const columns = everyColumn(table).filter((at) => table.columns[at]?.isGenerated === false);
  const given = new Given(rows).add("v", columns, ({ after }) => after);
  const names = columns.map((at) => quotedName(table.columns[at]?.name ?? ""));
  const target = columns.length === 0 ? "" : ` (${names.join(", ")}) OVERRIDING SYSTEM VALUE`;
  const values = columns.map((at) => typed(table, "v", at)).join(", ");
  await connection.run(
    `INSERT INTO ${tableName(table)}${target} SELECT ${values} FROM ${given.sql}`,
    given.parameters,
    "",
  );
}

async function deleteRows(
  connection: PostgresConnection,
  table: TableChange,
  page: readonly RowChange[],
): Promise<ReadonlySet<number>> {
  const given = new Given(page).add("o", everyColumn(table), ({ before }) => before);
  const { rows } = await connection.run(
    `DELETE FROM ONLY ${tableName(table)} AS this USING ${given.sql}
     WHERE ${sameKey(table, "o")} AND ${sameRow(table)} RETURNING given.n`,
    given.parameters,
    "",
  );
  return new Set(rows.map(([n]) => Number(n)));
}

async function updateRows(
  connection: PostgresConnection,
  table: TableChange,
  page: readonly RowChange[],
): Promise<ReadonlySet<number>> {
  const changed = everyColumn(table).filter(
    (at) =>
      table.columns[at]?.isGenerated === false &&
      page.some(({ before, after }) => before?.[at] !== after?.[at]),
  );
  // A row may differ only in columns that are computed: then the key stands for it.
  const columns = changed.length > 0 ? changed : (table.key ?? []).slice(0, 1);
  const given = new Given(page)
    .add("o", everyColumn(table), ({ before }) => before)
    .add("v", columns, ({ after }) => after);
  const assignments = columns.map(
    (at) => `${quotedName(table.columns[at]?.name ?? "")} = ${typed(table, "v", at)}`,
  );
  const { rows } = await connection.run(
    `UPDATE ONLY ${tableName(table)} AS this SET ${assignments.join(", ")} FROM ${given.sql}
     WHERE ${sameKey(table, "o")} AND ${sameRow(table)} RETURNING given.n`,
    given.parameters,
    "",
  );
  return new Set(rows.map(([n]) => Number(n)));
}

/** Deletes as many of equal rows as have to go. */
async function deleteCopies(
  connection: PostgresConnection,
  table: TableChange,
  page: readonly RowChange[],
): Promise<ReadonlySet<number>> {
  const given = new Given(page).add("o", everyColumn(table), ({ before }) => before);
  const copies = page.map(({ copies: count = 1 }) => String(count));
  const { rows } = await connection.run(
    `WITH given AS (SELECT given.*, copies.count::bigint AS copies FROM ${given.sql}
       JOIN unnest($${given.parameters.length + 1}::text[]) WITH ORDINALITY AS copies(count, nth)
       ON copies.nth = given.n::bigint + 1),
     gone AS (DELETE FROM ONLY ${tableName(table)} WHERE ctid IN (
       SELECT numbered.place FROM (SELECT this.ctid AS place, ${rowText("this", table.columns)} AS row,
         row_number() OVER (PARTITION BY ${rowText("this", table.columns)}) AS nth
         FROM ONLY ${tableName(table)} AS this) AS numbered
       JOIN given ON numbered.row = ${givenRow(table)} AND numbered.nth <= given.copies)
       RETURNING ${rowText(tableName(table), table.columns)} AS row)
     SELECT given.n FROM given JOIN gone ON gone.row = ${givenRow(table)}
     GROUP BY given.n, given.copies HAVING count(*) = given.copies`,
    [...given.parameters, copies],
    "",
  );
  return new Set(rows.map(([n]) => Number(n)));
}

function everyColumn({ columns }: TableChange): number[] {
  return columns.map((_, at) => at);
}

/** A given value, as its column has it. */
function typed({ columns }: TableChange, prefix: string, at: number): string {
  return `given.${prefix}${at}::${columns[at]?.type}`;
}

function sameKey({ key = [], columns }: TableChange, prefix: string): string {
  return key
    .flatMap((at) => {
      const column = columns[at];
      if (column === undefined) return [];
      return isGiven(`this.${quotedName(column.name)}`, `given.${prefix}${at}`, column);
    })
    .join(" AND ");
}

/** The checked columns are as they were, to the last character. */
function sameRow(table: TableChange): string {
  if (table.checked.length === 0) return "true";
  const now = rowText(
    "this",
    table.checked.flatMap((at) => table.columns[at] ?? []),
  );
  return `${now} = ROW(${table.checked.map((at) => typed(table, "o", at)).join(", ")})::text`;
}

function givenRow(table: TableChange): string {
  const values = everyColumn(table).map((at) => typed(table, "o", at));
  return values.length === 0 ? "'()'" : `ROW(${values.join(", ")})::text`;
}
