import type { StatementResult } from "../../core/values/query.ts";

/**
 * The one interface over databases of every kind: running the statements that a user gave. A driver makes its
 * errors ours, with the hint that helps, and never shows a password.
 */
export interface DatabaseConnection {
  /**
   * Runs a script, statement by statement. The first that fails ends it. Unless the script is about
   * transactions itself, it is one: then a failure leaves nothing of it.
   */
  run(script: string): Promise<readonly StatementResult[]>;

  /** Frees the connection; what is not committed is rolled back. Calling it again does nothing. */
  close(): Promise<void>;
}
