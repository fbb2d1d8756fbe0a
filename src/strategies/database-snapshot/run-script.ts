import { UsageError } from "../../core/errors/errors.ts";
import type { StatementResult } from "../../core/values/query.ts";
import { PostgresConnection } from "../../database/postgres/postgres-connection.ts";
import type { ServerLogin } from "../../database/server/server-database.ts";
import { whichOf } from "../../database/server/server-errors.ts";
import { statementsOf } from "../../database/server/server-statements.ts";

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
];

/** Runs a script in a clone as the user of the plan: in one transaction, unless it has its own. */
export async function runInClone(
  login: ServerLogin,
  script: string,
  { readOnly, signal }: { readonly readOnly: boolean; readonly signal: AbortSignal },
): Promise<StatementResult[]> {
  const statements = statementsOf(script, "postgres");
  const hasOwn = statements.some(
    ({ words }) =>
      ALONE.includes(words[0] ?? "") ||
      words.includes("CONCURRENTLY") ||
      words.slice(0, 2).join(" ") === "CREATE DATABASE",
  );
  if (readOnly && hasOwn)
    throw new UsageError("Only reading is allowed, in a transaction that the script can't have a say in.", {
      hint: "Leave out statements about transactions.",
      code: "READ_ONLY",
    });
  const connection = await PostgresConnection.open(login);
  const stop = () => connection.drop();
  signal.addEventListener("abort", stop);
  try {
    if (!hasOwn) await connection.run(`BEGIN ${readOnly ? "READ ONLY" : "READ WRITE"}`);
    const results: StatementResult[] = [];
    for (const [at, { sql }] of statements.entries()) {
      const { columns, rows, changes } = await connection.run(sql, [], whichOf(at, statements.length));
      results.push({ columns, rows, changes });
    }
    if (!hasOwn) await connection.run("COMMIT", [], "");
    return results;
  } finally {
    signal.removeEventListener("abort", stop);
    // What is not committed goes with the connection.
    await connection.close();
  }
}
