/** A value as a database has it: what JavaScript's own numbers can't hold exactly is a bigint. */
export type DatabaseValue = null | number | bigint | string | Uint8Array;

/** What one statement gave. */
export interface StatementResult {
  /** Empty for a statement that gives no rows. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly DatabaseValue[])[];
  /** How many rows it changed. */
  readonly changes: number;
}
