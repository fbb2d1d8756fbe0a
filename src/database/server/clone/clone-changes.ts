import type { ChangeOperation } from "../../../core/change.ts";

/** What was done in a clone of a database, as plain data. All of it lands in one transaction. */
export interface CloneChanges {
  /** Run first, in order. */
  readonly statements: readonly RecordedStatement[];
  readonly whole: readonly WholeTable[];
  readonly tables: readonly TableChange[];
  readonly sequences: readonly SequenceChange[];
}

/** The changes of a clone, with the definitions that differ. */
export interface CloneWork<Side extends Definition = Definition> {
  readonly definitions: readonly DefinitionChange<Side>[];
  readonly changes: CloneChanges;
  /** Why it can't land. */
  readonly whyNot?: string;
}

/** The changes that take a landing back, or why there are none that do it exactly. */
export type WayBack = CloneChanges | { readonly whyNot: string };

export interface TableColumn {
  readonly name: string;
  /** As SQL writes it. */
  readonly type: string;
  /** Computed from others, so that it can't be written. */
  readonly isGenerated: boolean;
  /** Its type is that of an extension, whose operators no search path of ours finds. */
  readonly isForeign?: boolean;
  /** What a value is to people; the text of bytes is hexadecimal. */
  readonly kind: "integer" | "real" | "text" | "bytes";
  /** Text whose values are bytes in this character set. */
  readonly charset?: string;
}

/** A table whose rows are compared. A partition is one; the table that it is a part of has no rows. */
export interface TableShape {
  /** Empty where a database has no schemas. */
  readonly schema: string;
  readonly name: string;
  readonly columns: readonly TableColumn[];
  /** The columns that tell rows apart, counted from 0; absent if none do. */
  readonly key?: readonly number[];
}

/** The values of a row as text, in the order of the columns. */
export type RowValues = readonly (string | null)[];

/** One row that differs. */
export interface RowChange {
  readonly before?: RowValues;
  readonly after?: RowValues;
  /** How many such rows, in a table whose rows nothing tells apart. Default: 1. */
  readonly copies?: number;
}

/** The rows that differ in one table. */
export interface TableChange extends TableShape {
  /**
   * The columns, counted from 0, whose old values a landing checks: those that the table had before, with
   * the same type.
   */
  readonly checked: readonly number[];
  readonly rows: readonly RowChange[];
}

/** A table that goes, or loses columns, by a statement: all of its rows must be those that the base has. */
export interface WholeTable extends TableShape {
  readonly digest: string;
}

/** A statement that changed definitions, with what decided its meaning. */
export interface RecordedStatement {
  readonly sql: string;
  /** The role that ran it; undefined for the user of the plan. */
  readonly role?: string;
  readonly searchPath: string;
}

/** The state of a sequence, which begins with its last value: "LAST|…". */
export interface SequenceChange {
  readonly schema: string;
  readonly name: string;
  readonly before: string;
  readonly after: string;
}

/** A table, view, function or other object, as the statements that make it. */
export interface Definition {
  /** "TABLE", "INDEX", "FUNCTION" … */
  readonly type: string;
  readonly schema: string;
  /** The name, for some types with the name of the table before it. */
  readonly name: string;
  readonly owner: string;
  readonly sql: string;
}

/** A definition that differs. */
export interface DefinitionChange<Side extends Definition = Definition> {
  readonly path: string;
  readonly type: string;
  readonly operation: Exclude<ChangeOperation, "typechanged">;
  readonly before?: Side;
  readonly after?: Side;
}

/** The changes that lead back, where no statement changed definitions. */
export function reversed({ tables, sequences }: Pick<CloneChanges, "tables" | "sequences">): CloneChanges {
  return {
    statements: [],
    whole: [],
    tables: tables.map((table) => ({
      ...table,
      checked: table.columns.map((_, at) => at),
      rows: table.rows.map(({ before, after, copies }) => ({
        ...(after !== undefined && { before: after }),
        ...(before !== undefined && { after: before }),
        ...(copies !== undefined && { copies }),
      })),
    })),
    sequences: sequences.map(({ before, after, ...name }) => ({ ...name, before: after, after: before })),
  };
}

export function countChanges({ tables, sequences }: CloneChanges): number {
  return tables.reduce((sum, { rows }) => sum + rows.length, 0) + sequences.length;
}

/** Whether the rows of two tables can be compared column by column. */
export function hasSameColumns(a: TableShape, b: TableShape): boolean {
  return (
    JSON.stringify(a.columns) === JSON.stringify(b.columns) && JSON.stringify(a.key) === JSON.stringify(b.key)
  );
}
