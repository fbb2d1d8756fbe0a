/** A value of a database; integers that a JavaScript number can't hold exactly are bigints. */
export type DatabaseValue = null | number | bigint | string | Uint8Array;

/** The result of one statement. */
export interface StatementResult {
  /** Empty for a statement without rows. */
  readonly columns: readonly string[];
  readonly rows: readonly (readonly DatabaseValue[])[];
  /** How many rows it changed. */
  readonly changes: number;
}

/** A statement with columns that changed no row has only looked. Without columns it may have made a table. */
export function onlyReads({ columns, changes }: StatementResult): boolean {
  return columns.length > 0 && changes === 0;
}
