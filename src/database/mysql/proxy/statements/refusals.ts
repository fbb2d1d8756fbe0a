import { COMMITS_AT_ONCE } from "../../../server/refused-statements.ts";
import type { ClientError } from "../protocol/wire.ts";

/**
 * Statements of clients that can't be in the transaction of a plan, each with the reason. The server itself
 * refuses, in an XA transaction, whatever would commit it, also in procedures; a client gets the reason here.
 */
type Rule = readonly [begins: RegExp, reason: string];

const CONTROLS = "the plan is the transaction: its apply and its rollback end it";
const OUTSIDE = "it would change something outside of the transaction, which nothing could take back";
const HIDDEN = "the statement that it would run can't be checked";

const RULES: readonly Rule[] = [
  [/^XA\b/, CONTROLS],
  [/^(?:BEGIN NOT\b|IF\b|CASE\b|LOOP\b|WHILE\b|REPEAT\b|FOR\b|\w+ LOOP\b|DECLARE\b)/, HIDDEN],
  [/^(?:PREPARE|EXECUTE|DEALLOCATE|SET STATEMENT)\b/, HIDDEN],
  [
    /^(?:CREATE|DROP) (?:OR REPLACE )?TEMPORARY\b/,
    "a temporary table does not come and go with what a client commits and rolls back",
  ],
  [/^LOCK\b/, "it would commit what the plan has done so far"],
  [
    /^(?:CREATE|ALTER|DROP|RENAME|TRUNCATE|GRANT|REVOKE|ANALYZE|OPTIMIZE|REPAIR|CHECK|FLUSH|RESET|INSTALL|UNINSTALL)\b/,
    COMMITS_AT_ONCE,
  ],
  [/^LOAD\b/, "files do not come into a plan in this way; use INSERT"],
  [/\bINTO (?:OUTFILE|DUMPFILE)\b/, OUTSIDE],
];

/** Why a statement can't be run in a plan; undefined for any other. */
export function reasonAgainst(words: readonly string[]): string | undefined {
  const all = words.join(" ");
  return RULES.find(([begins]) => begins.test(all))?.[1];
}

export function refusal(words: readonly string[], reason: string): ClientError {
  return {
    code: 1235,
    state: "42000",
    message: `${words.slice(0, 2).join(" ")} can't be run in a plan: ${reason}`,
  };
}
