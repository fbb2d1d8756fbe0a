import { UsageError } from "../../core/errors/errors.ts";
import type { StatementResult } from "../../core/values/query.ts";
import { scriptStatements } from "../../database/server/psql-script.ts";
import { whichOf } from "../../database/server/server-errors.ts";
import type { Dialect, ScriptStatement } from "../../database/server/server-statements.ts";
import { isReading } from "../../database/server/statement-effect.ts";

/** Statements about transactions, and some that no transaction may have around them. */
const ALONE = [
  "BEGIN",
  "START",
  "COMMIT",
  "END",
  "ROLLBACK",
  "ABORT",
  "SAVEPOINT",
  "RELEASE",
  "VACUUM",
  "CALL",
  "XA",
];

/** A connection of the plan's user, which nobody else uses. */
export interface ScriptConnection {
  readonly dialect: Dialect;
  run(statement: ScriptStatement, which: string): Promise<StatementResult>;
  /** Cuts the connection. */
  drop(): void;
  close(): Promise<void>;
}

/** Runs a script in a clone as the user of the plan: in one transaction, unless it has its own. */
export async function runScript(
  connection: ScriptConnection,
  script: string,
  { readOnly, signal }: { readonly readOnly: boolean; readonly signal: AbortSignal },
): Promise<StatementResult[]> {
  const stop = () => connection.drop();
  signal.addEventListener("abort", stop);
  try {
    const statements = scriptStatements(script, connection.dialect);
    const hasOwn = statements.some(({ words }) => isAlone(words, connection.dialect));
    if (readOnly && (hasOwn || statements.some(({ words }) => mayCommit(words, connection.dialect))))
      throw new UsageError("Only reading is allowed, in a transaction that the script can't have a say in.", {
        hint: "Leave out statements about transactions, and those that write.",
        code: "READ_ONLY",
      });
    const own = async (sql: string) => await connection.run({ sql, words: [] }, "");
    if (!hasOwn) await own(`START TRANSACTION ${readOnly ? "READ ONLY" : "READ WRITE"}`);
    const results: StatementResult[] = [];
    for (const [at, statement] of statements.entries()) {
      const { columns, rows, changes } = await connection.run(statement, whichOf(at, statements.length));
      results.push({ columns, rows, changes });
    }
    if (!hasOwn) await own("COMMIT");
    return results;
  } finally {
    signal.removeEventListener("abort", stop);
    // What is not committed goes with the connection.
    await connection.close();
  }
}

function isAlone(words: readonly string[], dialect: Dialect): boolean {
  if (dialect === "mysql") return ALONE.includes(words[0] ?? "");
  return (
    ALONE.includes(words[0] ?? "") ||
    words.includes("CONCURRENTLY") ||
    words.slice(0, 2).join(" ") === "CREATE DATABASE"
  );
}

/** In MySQL's dialect, a statement on definitions ends a transaction that only reads. */
function mayCommit(words: readonly string[], dialect: Dialect): boolean {
  return dialect === "mysql" && !isReading(words);
}
