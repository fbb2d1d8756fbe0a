import { isReading } from "../../../server/statement-effect.ts";
import type { ClientError } from "../protocol/wire.ts";
import { reasonAgainst, refusal } from "./refusals.ts";
import { readSet, type SetStatement } from "./set-statement.ts";
import { type Reading, type StatementText, statementTexts } from "./statement-text.ts";

/**
 * A statement of a client, and what becomes of it inside the transaction of a plan.
 * - `begin`, `commit`, `rollback`: the client's own transaction, which is a savepoint here.
 * - `nothing`: it means nothing here, and is answered as done.
 * - `kill`, `use`, `set`: about sessions.
 * - `define`: a table that may be there already. Then it means nothing, else it can't be made here.
 * - `run`: the server runs it.
 */
export type ClientStatement = StatementText &
  (
    | { readonly does: "begin"; readonly readOnly: boolean }
    | { readonly does: "commit" | "rollback"; readonly chains: boolean; readonly leaves: boolean }
    | { readonly does: "nothing" }
    | { readonly does: "kill"; readonly id: number; readonly session: boolean }
    | { readonly does: "use"; readonly database: string }
    | { readonly does: "define"; readonly table: string; readonly error: ClientError }
    | { readonly does: "refused"; readonly error: ClientError }
    | SetStatement
    | RunnableStatement
  );

export interface RunnableStatement {
  readonly does: "run";
  /** Whether its words show that it only reads, unless a function that it calls writes. */
  readonly reads: boolean;
}

export type Runnable = StatementText & RunnableStatement;

const NAME = String.raw`(?:\`(?:[^\`]|\`\`)+\`|[\w$\u0080-\u00ff]+)`;
const ALLOWED =
  /^(?:SELECT|INSERT|UPDATE|DELETE|REPLACE|WITH|VALUES|TABLE|CALL|DO|SHOW|DESCRIBE|DESC|EXPLAIN|HELP|CHECKSUM|SIGNAL|SAVEPOINT|RELEASE|ROLLBACK|\()(?:\s|$)/;
const SAVEPOINT = new RegExp(
  `^(?:SAVEPOINT|RELEASE SAVEPOINT|ROLLBACK(?: WORK)? TO(?: SAVEPOINT)?)\\s+(${NAME})$`,
  "i",
);
const DEFINED = new RegExp(`^CREATE TABLE IF NOT EXISTS (${NAME}(?:\\s*\\.\\s*${NAME})?)`, "i");

/** The statements of a client's text. */
export function clientStatements(text: string, reading: Reading): ClientStatement[] {
  return statementTexts(text, reading).map((statement) => clientStatement(statement, reading));
}

function clientStatement(statement: StatementText, reading: Reading): ClientStatement {
  const { words, sql } = statement;
  const all = words.join(" ");
  if (statement.isUnclear)
    return {
      ...statement,
      does: "refused",
      error: refusal(
        words,
        "letters beyond ASCII have to be in quotation marks here, or the client's character set has to be utf8mb4",
      ),
    };
  if (/^(?:BEGIN(?: WORK)?|START TRANSACTION\b.*)$/.test(all))
    return { ...statement, does: "begin", readOnly: /\bREAD ONLY\b/.test(all) };
  if (/^(?:COMMIT|ROLLBACK)\b(?!.*\bTO\b)/.test(all))
    return {
      ...statement,
      does: words[0] === "COMMIT" ? "commit" : "rollback",
      chains: /\bAND CHAIN\b/.test(all),
      leaves: /(?<!\bNO )\bRELEASE$/.test(all),
    };
  if (/^UNLOCK TABLES?$/.test(all)) return { ...statement, does: "nothing" };
  const killed = /^KILL (?:(?:HARD|SOFT) )?(?:(CONNECTION|QUERY) )?(\d+)$/.exec(
    sql.replaceAll(/\s+/g, " ").toUpperCase(),
  );
  if (killed !== null)
    return { ...statement, does: "kill", id: Number(killed[2]), session: killed[1] !== "QUERY" };
  const used = new RegExp(`^USE\\s+(${NAME})$`, "i").exec(sql);
  if (used !== null) return { ...statement, does: "use", database: plainName(used[1] ?? "") };
  const reason = reasonAgainst(words);
  const [, table] = DEFINED.exec(sql.replaceAll(/\s+/g, " ")) ?? [];
  if (reason !== undefined) {
    const error = refusal(words, reason);
    return table === undefined
      ? { ...statement, does: "refused", error }
      : { ...statement, does: "define", table, error };
  }
  if (words[0] === "SET") return readSet(statement, reading);
  if (!ALLOWED.test(all))
    return {
      ...statement,
      does: "refused",
      error: refusal(words, "it is not known to be safe in a transaction"),
    };
  if (/^(?:SAVEPOINT|RELEASE|ROLLBACK)\b/.test(all) && !isOwnSavepoint(sql))
    return {
      ...statement,
      does: "refused",
      error: refusal(words, "a savepoint of this name could be one of the plan's"),
    };
  return { ...statement, does: "run", reads: isReading(withoutLock(words)) };
}

/** A server compares names of savepoints without accents and case: only plain ones are surely told apart. */
function isOwnSavepoint(sql: string): boolean {
  const name = SAVEPOINT.exec(sql.replaceAll(/\s+/g, " "))?.[1];
  return name !== undefined && /^[\w$]+$/.test(plainName(name)) && !/^drydock_/i.test(plainName(name));
}

function plainName(name: string): string {
  return name.startsWith("`") ? name.slice(1, -1).replaceAll("``", "`") : name;
}

/** A row that is only locked is not changed. */
function withoutLock(words: readonly string[]): readonly string[] {
  return words.filter((word, at) => word !== "UPDATE" || words[at - 1] !== "FOR");
}
