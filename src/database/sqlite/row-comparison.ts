import { quoted } from "./sqlite-database.ts";
import { type KeyColumn, type TableShape, tableName } from "./sqlite-schema.ts";

/**
 * Compares rows inside SQLite, so that JavaScript does not change values: invalid text, large integers,
 * integers next to whole reals. Two values are the same if their types and bytes are, whatever the collation
 * of a column says. Two rows have the same identity if their keys are equal by the rules of the table.
 */
export interface Rows {
  /** The table, as SQL. */
  readonly from: string;
  /** The columns, as SQL. Two sets of rows that are compared have theirs in the same order. */
  readonly columns: readonly string[];
  /** The name of the rowid; undefined if there is none. */
  readonly rowid: string | undefined;
}

/** The identity of a row: the rowid, or some of the columns. */
export type Identity = "rowid" | readonly (KeyColumn & { readonly at: number })[];

/** The rows of a real table. */
export function rowsOf(database: string, shape: TableShape): Rows {
  return { from: tableName(database, shape.name), columns: shape.columns.map(quoted), rowid: shape.rowid };
}

/** The primary key identifies rows, unless it is the rowid, or some row has no value in it. */
export function identityOf(shape: TableShape, hasRowsWithoutKey: boolean): Identity | undefined {
  if (shape.key.length > 0 && !hasRowsWithoutKey)
    return shape.key.map((column) => ({ ...column, at: shape.columns.indexOf(column.name) }));
  return shape.rowid === undefined ? undefined : "rowid";
}

/**
 * A condition for rows without a value in their primary key, which SQLite allows; undefined if there is no
 * such key.
 */
export function lacksKey(shape: TableShape): string | undefined {
  if (shape.rowid === undefined || shape.key.length === 0) return undefined;
  return shape.key.map(({ name }) => `${quoted(name)} IS NULL`).join(" OR ");
}

/** The columns as a list, the rowid first if there is one. */
export function columnList(alias: string, rows: Rows): string {
  const names = rows.rowid === undefined ? rows.columns : [rows.rowid, ...rows.columns];
  return names.map((name) => `${alias}.${name}`).join(", ");
}

/** Rows, and the name that they have in a statement. */
type Aliased = readonly [alias: string, rows: Rows];

/** Whether a row of `a` has the identity of one of `b`. */
export function sameIdentity([a, left]: Aliased, [b, right]: Aliased, identity: Identity): string {
  if (identity === "rowid") return `${a}.${left.rowid} = ${b}.${right.rowid}`;
  return conjunction(
    identity.map(
      ({ at, collation }) =>
        `${a}.${left.columns[at]} = ${b}.${right.columns[at]} COLLATE ${quoted(collation)}`,
    ),
  );
}

/** Whether two rows hold the same values. */
export function sameValues(a: string, left: Rows, b: string, right: Rows): string {
  return conjunction(
    left.columns.map((column, at) => {
      const other = `${b}.${right.columns[at]}`;
      return `typeof(${a}.${column}) = typeof(${other}) AND ${a}.${column} IS ${other} COLLATE BINARY`;
    }),
  );
}

/** The condition that `right` has no row with the identity and the values of row `a` of `left`. */
export function isMissingIn(a: string, left: Rows, right: Rows, identity: Identity): string {
  const [b, same] = ["other", sameIdentity(["other", right], [a, left], identity)];
  return `NOT EXISTS (SELECT 1 FROM ${right.from} AS ${b} WHERE ${same} AND ${sameValues(b, right, a, left)})`;
}

/** Joins all terms by AND, nested evenly, because SQLite limits the depth of an expression. */
export function conjunction(terms: readonly string[]): string {
  if (terms.length <= 2) return terms.length === 0 ? "TRUE" : terms.join(" AND ");
  const middle = Math.ceil(terms.length / 2);
  return `(${conjunction(terms.slice(0, middle))}) AND (${conjunction(terms.slice(middle))})`;
}
