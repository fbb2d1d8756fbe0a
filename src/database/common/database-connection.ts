import type { StatementResult } from "../../core/values/query.ts";

/**
 * The interface of all databases for running a user's statements. A driver turns errors into ours, with a
 * helpful hint, and never shows a password.
 */
export interface DatabaseConnection {
  /**
   * Runs a script, statement by statement, until one fails. A script without statements about transactions
   * runs as one unit: if it fails, nothing of it remains.
   */
  run(script: string): Promise<readonly StatementResult[]>;

  /** Closes the connection and rolls back what is not committed. A second call does nothing. */
  close(): Promise<void>;
}
