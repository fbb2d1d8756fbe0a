import { createHash } from "node:crypto";
import { type ScriptStatement, statementsOf } from "../../server/server-statements.ts";
import { isReading } from "../../server/statement-effect.ts";
import { refusalOf } from "./refusals.ts";
import type { ClientError } from "./wire.ts";

/**
 * A statement of a client, and what becomes of it inside the transaction of a plan.
 * - `begin`, `commit`, `rollback`: the client's own transaction, which is a savepoint here.
 * - `nothing`: it means nothing here, and is answered as done.
 * - `forget`: the client's prepared statements, and with `settings` what it has set.
 * - `run`: the server runs it.
 */
export type ClientStatement = { readonly sql: string; readonly words: readonly string[] } & (
  | { readonly does: "begin"; readonly tag: string; readonly readOnly: boolean }
  | { readonly does: "commit" | "rollback"; readonly chains: boolean }
  | { readonly does: "nothing"; readonly tag: string }
  | {
      readonly does: "forget";
      readonly tag: string;
      readonly statements: boolean;
      readonly settings: boolean;
    }
  | { readonly does: "refused"; readonly error: ClientError }
  | RunStatement
);

interface RunStatement {
  readonly does: "run";
  /** Whether its words show that it only reads, or only changes the session. */
  readonly reads: boolean;
  readonly sets: readonly MadeSetting[];
}

/** A setting that a statement makes, in small letters, for the client's session or only its transaction. */
export interface MadeSetting {
  readonly name: string;
  readonly isLocal: boolean;
}

/** Statements that change nothing that could land. */
export const QUIET = /^(?:SET|RESET|DECLARE|CLOSE|MOVE|PREPARE|DEALLOCATE|SAVEPOINT|RELEASE|ROLLBACK|LOAD)\b/;
/** Settings that could end the connection, and with it the work of the plan. */
const ENDING =
  /^(?:SET (?:(?:SESSION|LOCAL) )?|RESET )(?:IDLE_IN_TRANSACTION_SESSION_TIMEOUT|IDLE_SESSION_TIMEOUT|TRANSACTION_TIMEOUT)\b/;
export const READ_ONLY = "SET TRANSACTION READ ONLY";
const MODES =
  /^SET (?:SESSION CHARACTERISTICS\b|(?:(?:SESSION|LOCAL) )?(?:TRANSACTION|TRANSACTION_(?:ISOLATION|READ_ONLY|DEFERRABLE))\b)/;

/** So many texts are remembered, and none that is longer. */
const MOST_KNOWN = 200;
const LONGEST_KNOWN = 2_000;

/** Reads the texts of one client, which sends most of them often. */
export class StatementReader {
  readonly #prefix: string;
  readonly #known = new Map<string, readonly ClientStatement[]>();

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  read(text: string): readonly ClientStatement[] {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const statements = clientStatements(text, this.#prefix);
    if (text.length > LONGEST_KNOWN) return statements;
    if (this.#known.size === MOST_KNOWN) this.#known.clear();
    this.#known.set(text, statements);
    return statements;
  }
}

/** The statements of a client's text. `prefix` is put before the names of its prepared statements. */
export function clientStatements(text: string, prefix: string): ClientStatement[] {
  return statementsOf(text, "postgres").map((statement) => clientStatement(statement, prefix));
}

function clientStatement(statement: ScriptStatement, prefix: string): ClientStatement {
  const { words } = statement;
  const all = words.join(" ");
  const chains = / AND CHAIN$/.test(all);
  const readOnly = /\bREAD ONLY\b/.test(all);
  const error = refusalOf(statement);
  if (error !== undefined) return { ...statement, does: "refused", error };
  if (/^(?:BEGIN|START TRANSACTION)\b/.test(all))
    return {
      ...statement,
      does: "begin",
      tag: words[0] === "BEGIN" ? "BEGIN" : "START TRANSACTION",
      readOnly,
    };
  if (/^(?:COMMIT|END)\b/.test(all)) return { ...statement, does: "commit", chains };
  if (/^(?:ROLLBACK|ABORT)\b(?!.*\bTO\b)/.test(all)) return { ...statement, does: "rollback", chains };
  if (/^UNLISTEN\b/.test(all)) return { ...statement, does: "nothing", tag: "UNLISTEN" };
  if (ENDING.test(all)) return { ...statement, does: "nothing", tag: words[0] ?? "" };
  if (MODES.test(all)) {
    if (!readOnly || /^SET SESSION\b/.test(all)) return { ...statement, does: "nothing", tag: "SET" };
    return run({ sql: READ_ONLY, words });
  }
  if (/^DISCARD ALL\b/.test(all))
    return { ...statement, does: "forget", tag: "DISCARD ALL", statements: true, settings: true };
  if (/^RESET ALL\b/.test(all))
    return { ...statement, does: "forget", tag: "RESET", statements: false, settings: true };
  if (/^DEALLOCATE (?:PREPARE )?ALL\b/.test(all))
    return { ...statement, does: "forget", tag: "DEALLOCATE ALL", statements: true, settings: false };
  if (/^(?:PREPARE|EXECUTE|DEALLOCATE)\b/.test(all))
    return run({ sql: withOwnName(statement.sql, prefix), words });
  return run(statement);
}

function run({ sql, words }: ScriptStatement): ClientStatement {
  const reads = isReading(words) || QUIET.test(words[0] ?? "") || isCopyOut(words);
  return { sql, words, does: "run", reads, sets: settingsMade(sql) };
}

function isCopyOut(words: readonly string[]): boolean {
  return words[0] === "COPY" && words.includes("STDOUT");
}

const SPACE = String.raw`(?:\s|--[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)*`;
const NAME = String.raw`(?:"(?:[^"]|"")+"|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)`;
const PREPARED = new RegExp(
  `^(?<before>${SPACE}(?:PREPARE|EXECUTE|DEALLOCATE(?:\\s+PREPARE(?=\\s))?)\\s+)(?<name>${NAME})`,
  "iu",
);

/** Puts a prefix before the name of a prepared statement, so that each client has names of its own. */
function withOwnName(sql: string, prefix: string): string {
  return sql.replace(PREPARED, (_, before: string, name: string) => {
    const plain = name.startsWith('"') ? name.slice(1, -1).replaceAll('""', '"') : name.toLowerCase();
    return `${before}"${ownName(prefix, plain).replaceAll('"', '""')}"`;
  });
}

/** The server cuts names after so many bytes. */
const LONGEST_NAME = 63;
const DIGITS = 40;

/** The name that a client's prepared statement has on the server. */
export function ownName(prefix: string, name: string): string {
  const own = `${prefix}${name}`;
  if (Buffer.byteLength(own) <= LONGEST_NAME) return own;
  const cut = Buffer.from(name).subarray(0, LONGEST_NAME);
  return `${prefix}${createHash("sha256").update(cut).digest("hex").slice(0, DIGITS)}`;
}

const SET = new RegExp(
  `^${SPACE}(?:SET\\s+(?:SESSION\\s+|(?<local>LOCAL)\\s+)?|RESET\\s+)(?<name>${NAME}(?:\\.${NAME})?)`,
  "iu",
);
const SET_BY_FUNCTION =
  /\bset_config\s*\(\s*'(?<name>[^']+)'(?:\s*,[^;]*?,\s*(?<session>false|'f(?:alse)?')\s*\))?/gi;
const OTHER_NAMES: { readonly [word: string]: string } = {
  time: "timezone",
  names: "client_encoding",
  schema: "search_path",
};

/** The settings that a statement makes, as far as its text shows it. */
function settingsMade(sql: string): readonly MadeSetting[] {
  const { name, local } = SET.exec(sql)?.groups ?? {};
  const plain = name?.replaceAll('"', "").toLowerCase();
  const made =
    plain === undefined ? [] : [{ name: OTHER_NAMES[plain] ?? plain, isLocal: local !== undefined }];
  const byFunction = [...sql.matchAll(SET_BY_FUNCTION)].map(({ groups = {} }) => ({
    name: (groups["name"] ?? "").toLowerCase(),
    isLocal: groups["session"] === undefined,
  }));
  return [...made, ...byFunction];
}
