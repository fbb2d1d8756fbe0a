import { StatementError } from "../../core/errors/errors.ts";
import type { Dialect, ScriptStatement } from "./server-statements.ts";

/**
 * Statements that can't run in a transaction held for a plan, each with the reason. They are refused before
 * they are sent. Some would land at once, some would end the transaction, and some would keep it from being
 * prepared.
 */
type Rule = readonly [begins: RegExp, reason: string];

const CONTROLS =
  "the plan is the transaction: its apply, rollback and checkpoint end it, undo it and mark it";

const POSTGRES: readonly Rule[] = [
  [/^(?:BEGIN|START|COMMIT|END|ROLLBACK|ABORT|SAVEPOINT|RELEASE)\b/, CONTROLS],
  [/^PREPARE TRANSACTION\b/, CONTROLS],
  [
    /^SET (?:(?:SESSION|LOCAL) )?(?:TRANSACTION|CHARACTERISTICS|DEFAULT_TRANSACTION_\w+|TRANSACTION_\w+)\b/,
    CONTROLS,
  ],
  [/^(?:RESET|DISCARD) ALL\b/, "it would also reset how the plan's transaction is set up"],
  [/^(?:LISTEN|UNLISTEN|NOTIFY)\b/, "a transaction with notifications can't be prepared"],
  [
    /^(?:CREATE|SELECT\b.* INTO) (?:OR REPLACE )?(?:(?:GLOBAL|LOCAL) )?TEMP(?:ORARY)?\b/,
    "a transaction with temporary objects can't be prepared",
  ],
  [/^DECLARE\b.*\bWITH HOLD\b/, "a transaction with such a cursor can't be prepared"],
  [
    /^COPY\b.*\bTO STDOUT\b/,
    "a script has no stream to copy to; run it by a client such as psql, inside the plan",
  ],
];

const MYSQL_ALLOWED =
  /^(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH|VALUES|TABLE|CALL|DO|SHOW|DESCRIBE|DESC|EXPLAIN|SET|HELP|\()(?:\s|$)/;
/** Why MySQL's definitions can't be changed in a transaction. */
export const COMMITS_AT_ONCE =
  "MySQL and MariaDB commit at once when the schema is changed, so it could not be taken back; change the schema outside of the plan";

const MYSQL: readonly Rule[] = [
  [/^(?:BEGIN|START|COMMIT|END|ROLLBACK|SAVEPOINT|RELEASE|XA)\b/, CONTROLS],
  [/^(?:UN)?LOCK\b/, "it would commit what the plan has done so far"],
  [
    /^(?:CREATE|ALTER|DROP|RENAME|TRUNCATE|GRANT|REVOKE|ANALYZE|OPTIMIZE|REPAIR|CHECK|FLUSH|RESET|INSTALL|UNINSTALL)\b/,
    COMMITS_AT_ONCE,
  ],
  [/^SET\b.*\b(?:AUTOCOMMIT|TRANSACTION|COMPLETION_TYPE|\w*ISOLATION)\b/, CONTROLS],
  [/^SET\b.*\b(?:GLOBAL|PERSIST|PERSIST_ONLY|PASSWORD)\b/, "it would change the server, outside of the plan"],
  [/^(?:PREPARE|EXECUTE|DEALLOCATE)\b/, "the statement that it would run can't be checked"],
];

const SAME_ENCODING = /\b(?:utf-?8|unicode|default)\b/i;

/** Refuses a statement that can't be run in a held transaction. */
export function assertRunnable({ sql, words }: ScriptStatement, dialect: Dialect): void {
  const text = words.join(" ");
  if (
    dialect === "postgres" &&
    /^SET (?:(?:SESSION|LOCAL) )?(?:CLIENT_ENCODING|NAMES)\b/.test(text) &&
    !SAME_ENCODING.test(sql)
  )
    throw refused(words, "a script is read as UTF-8, whatever it says");
  const rule = (dialect === "postgres" ? POSTGRES : MYSQL).find(([begins]) => begins.test(text));
  if (rule !== undefined) throw refused(words, rule[1]);
  if (dialect === "mysql" && !MYSQL_ALLOWED.test(text))
    throw refused(words, "it is not known to be safe in a transaction");
}

function refused(words: readonly string[], reason: string): StatementError {
  return new StatementError(`${words.slice(0, 2).join(" ")} can't be run in a plan: ${reason}.`, {
    hint: "Leave it out; nothing was run.",
  });
}
