import type { ChangeOperation } from "../change.ts";

/**
 * A value of a database as people read it, within bounds. `text` of bytes is hex; of text it is the text, in
 * which a byte that is not UTF-8 stands as in byte-path.ts; of null it is "NULL".
 */
export interface ShownValue {
  readonly type: "null" | "integer" | "real" | "text" | "bytes";
  /** The beginning of the value, if `size` is there. */
  readonly text: string;
  /** How many bytes the value has; only if not all of them are shown. */
  readonly size?: number;
}

export interface ChangedColumn {
  readonly name: string;
  /** Whether the rows are told apart by it. */
  readonly isKey: boolean;
  /** The only side that has this column, if it is not on both. */
  readonly only?: "before" | "after";
}

/** One row. Both sides have a place for each column: null where that side lacks the column. */
export interface ChangedRow {
  /** The path of the row in a diff. A table that is made, dropped or altered is one change, and has none. */
  readonly path: string;
  readonly operation: Exclude<ChangeOperation, "typechanged">;
  readonly before?: readonly (ShownValue | null)[];
  readonly after?: readonly (ShownValue | null)[];
  /** The columns that differ, counted from 0. Exact, also where values are cut. */
  readonly changed: readonly number[];
}

/** A definition, a number or statistics of a database, on both sides. */
export interface ChangedDefinition {
  /** "table", "index", "view", "trigger", "number" or "statistics". */
  readonly type: string;
  readonly before?: ShownValue;
  readonly after?: ShownValue;
}

/** What a plan changes in one table of a database, or in another object of it. */
export interface ChangedRows {
  /** The definitions that differ. */
  readonly definitions: readonly ChangedDefinition[];
  readonly columns: readonly ChangedColumn[];
  /** A page of the rows, in the order of their keys. */
  readonly rows: readonly ChangedRow[];
  /** How many rows change in all. */
  readonly total: number;
  /** How many rows of an altered table stay as they are. */
  readonly same: number;
  /** Of everything above, on all pages. */
  readonly digest: string;
}

/** Which of the rows. */
export interface RowRange {
  readonly offset: number;
  /** The most rows. There may be fewer if they are large. */
  readonly limit: number;
}
