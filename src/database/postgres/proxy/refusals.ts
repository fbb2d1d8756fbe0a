import type { ScriptStatement } from "../../server/server-statements.ts";
import type { ClientError } from "./wire.ts";

/**
 * Statements of clients that can't be in the transaction of a plan, each with the reason. Some would leave
 * something outside of it, some would keep it from being prepared, and some the server runs in no
 * transaction.
 */
type Rule = readonly [begins: RegExp, reason: string];

const NO_TRANSACTION = "the server runs it only outside of transactions, and a plan is one";
const OUTSIDE = "it would change something outside of the transaction, which nothing could take back";
const CONTROLS = "the plan is the transaction: its apply and its rollback end it";

const RULES: readonly Rule[] = [
  [/^(?:PREPARE TRANSACTION|(?:COMMIT|ROLLBACK) PREPARED)\b/, CONTROLS],
  [/^(?:VACUUM|ALTER SYSTEM)\b/, NO_TRANSACTION],
  [/^(?:CREATE|DROP) (?:DATABASE|TABLESPACE)\b/, NO_TRANSACTION],
  [/^(?:CREATE|DROP|ALTER) SUBSCRIPTION\b/, NO_TRANSACTION],
  [/^(?:CREATE (?:UNIQUE )?INDEX|DROP INDEX|REINDEX\b.*) CONCURRENTLY\b/, NO_TRANSACTION],
  [/^REINDEX (?:DATABASE|SYSTEM)\b/, NO_TRANSACTION],
  [/^ALTER TABLE\b.*\bDETACH PARTITION\b.*\bCONCURRENTLY\b/, NO_TRANSACTION],
  [/^(?:LISTEN|NOTIFY)\b/, "a transaction with notifications can't be prepared"],
  [
    /^(?:CREATE|SELECT\b.* INTO) (?:OR REPLACE )?(?:(?:GLOBAL|LOCAL) )?TEMP(?:ORARY)?\b/,
    "a transaction with temporary objects can't be prepared",
  ],
  [/^DECLARE\b.*\bWITH HOLD\b/, "a transaction with such a cursor can't be prepared"],
  [/^COPY\b.*\bPROGRAM\b/, OUTSIDE],
  [/^COPY\b.*\bTO\b(?!.*\bSTDOUT\b)/, OUTSIDE],
  [/^SET (?:(?:SESSION|LOCAL) )?SESSION AUTHORIZATION\b/, "all clients share the session of the plan"],
  [
    /^SET (?:(?:SESSION|LOCAL) )?STANDARD_CONFORMING_STRINGS\b(?! (?:TO )?ON$)/,
    "the plan reads texts as the standard says",
  ],
  [/^SET (?:(?:SESSION|LOCAL) )?TRANSACTION SNAPSHOT\b/, "the plan has its own snapshot of the database"],
];

/** The error for a statement that can't be run in a plan; undefined for any other. */
export function refusalOf({ sql, words }: ScriptStatement): ClientError | undefined {
  const all = words.join(" ");
  const [, reason] = RULES.find(([begins]) => begins.test(all)) ?? [];
  if (reason !== undefined) return refused(words, reason);
  // By U&"…" a name can be written in other words.
  if (/^(?:SAVEPOINT|RELEASE|ROLLBACK)\b/.test(all) && /\bdrydock_|\bU&/i.test(sql))
    return refused(words, "savepoints of this name belong to the plan");
  return undefined;
}

/** Why a statement can't be run outside of a client's own transaction; undefined for any other. */
export function refusalOutside([first = ""]: readonly string[]): ClientError | undefined {
  if (!/^(?:SAVEPOINT|RELEASE|ROLLBACK)$/.test(first)) return undefined;
  const what = first === "ROLLBACK" ? "ROLLBACK TO SAVEPOINT" : first;
  return { state: "25P01", message: `${what} can only be used in transaction blocks` };
}

export const ABORTED: ClientError = {
  state: "25P02",
  message: "current transaction is aborted, commands ignored until end of transaction block",
};

function refused(words: readonly string[], reason: string): ClientError {
  return {
    state: reason === NO_TRANSACTION ? "25001" : "0A000",
    message: `${words.slice(0, 2).join(" ")} can't be run in a plan: ${reason}`,
    hint: "Leave it out, or run it on the database itself.",
  };
}
