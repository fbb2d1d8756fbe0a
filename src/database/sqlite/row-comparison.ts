import { quoted } from "./sqlite-database.ts";
import { type KeyColumn, type TableShape, tableName } from "./sqlite-schema.ts";

/**
 * Comparing rows inside SQLite, so that values never leave it: what JavaScript would change (text that is not
 * valid, large integers, integers against whole reals) stays exactly what it is. Two values are the same if
 * their types are and their bytes are, whatever the collation of a column says; two rows are of the same
 * identity if their keys are equal as the table itself sees it.
 */
export interface Rows {
  /** As SQL takes it. */
  readonly from: string;
  /** The columns, as SQL takes them; those of two things that are compared stand in the same order. */
  readonly columns: readonly string[];
  /** How the rowid is called; undefined if there is none. */
  readonly rowid: string | undefined;
}

/** By what rows are told apart: the rowid, or some of the columns. */
export type Identity = "rowid" | readonly (KeyColumn & { readonly at: number })[];

/** The rows of a real table. */
export function rowsOf(database: string, shape: TableShape): Rows {
  return { from: tableName(database, shape.name), columns: shape.columns.map(quoted), rowid: shape.rowid };
}

/** The primary key tells rows apart, unless it is the rowid, or a row has no value in it. */
export function identityOf(shape: TableShape, hasRowsWithoutKey: boolean): Identity | undefined {
  if (shape.key.length > 0 && !hasRowsWithoutKey)
    return shape.key.map((column) => ({ ...column, at: shape.columns.indexOf(column.name) }));
  return shape.rowid === undefined ? undefined : "rowid";
}

/**
 * A condition that holds for a row without a value in its primary key, which SQLite allows; undefined if
 * there is no such key.
 */
export function lacksKey(shape: TableShape): string | undefined {
  if (shape.rowid === undefined || shape.key.length === 0) return undefined;
  return shape.key.map(({ name }) => `${quoted(name)} IS NULL`).join(" OR ");
}

/** The columns of rows as a list, the rowid first where there is one. */
export function columnList(alias: string, rows: Rows): string {
  const names = rows.rowid === undefined ? rows.columns : [rows.rowid, ...rows.columns];
  return names.map((name) => `${alias}.${name}`).join(", ");
}

/** Whether a row of `a` has the identity of one of `b`. */
export function sameIdentity(a: string, left: Rows, b: string, right: Rows, identity: Identity): string {
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

/**
 * A condition on the row `a` of `left`: that `right` has no row of the same identity with the same values.
 */
export function isMissingIn(a: string, left: Rows, right: Rows, identity: Identity): string {
  const [b, same] = ["other", sameIdentity("other", right, a, left, identity)];
  return `NOT EXISTS (SELECT 1 FROM ${right.from} AS ${b} WHERE ${same} AND ${sameValues(b, right, a, left)})`;
}

/** All of them; nested evenly, because SQLite limits how deep an expression may be. */
function conjunction(terms: readonly string[]): string {
  if (terms.length <= 2) return terms.length === 0 ? "TRUE" : terms.join(" AND ");
  const middle = Math.ceil(terms.length / 2);
  return `(${conjunction(terms.slice(0, middle))}) AND (${conjunction(terms.slice(middle))})`;
}
