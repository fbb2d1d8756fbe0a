import type { ClientError } from "../protocol/wire.ts";
import { refusal } from "./refusals.ts";
import { listItems, type Reading, type StatementText } from "./statement-text.ts";

/** A SET of a client: what the server gets of it, and what it means for the client's transactions. */
export interface SetStatement {
  readonly does: "set";
  /** Undefined if nothing is left for the server. */
  readonly forServer: string | undefined;
  /** The settings of the session that it makes. */
  readonly names: readonly string[];
  readonly autocommit?: boolean;
  readonly readOnly?: boolean;
}

type Refused = { readonly does: "refused"; readonly error: ClientError };

const VARIABLE =
  /^(?:(?<scope>GLOBAL|SESSION|LOCAL|PERSIST|PERSIST_ONLY)\s+|@@(?:(?<at>GLOBAL|SESSION|LOCAL|PERSIST|PERSIST_ONLY)\s*\.\s*)?)?`?(?<name>[\w$]+(?:\.[\w$]+)?)`?\s*:?=\s*(?<value>[\s\S]+)$/i;
const OF_USER = /^@(?!@)[\s\S]+$/;
const CHARACTER_SETS = [
  ...["character_set_client", "character_set_connection", "character_set_results", "collation_connection"],
];
/** They could end the connection, or are about transactions, of which the plan has only one. */
const WITHOUT_MEANING =
  /^(?:(?:wait|interactive|net_write|net_read)_timeout|idle_(?:(?:readonly|write)_)?transaction_timeout|(?:tx|transaction)_isolation|completion_type)$/;
const READ_ONLY = /^(?:tx|transaction)_read_only$/;
/** They hold for one statement, or are told by it. */
const OF_STATEMENTS = /^(?:insert_id|last_insert_id|identity|rand_seed[12])$/;
const TRUE = /^'?(?:1|ON|TRUE|DEFAULT)'?$/i;
const FALSE = /^'?(?:0|OFF|FALSE)'?$/i;

/** What one assignment means: text for the server, settings that it makes, or why it can't be made. */
interface Assignment {
  readonly forServer?: string;
  readonly names?: readonly string[];
  readonly autocommit?: boolean;
  readonly readOnly?: boolean;
  readonly refused?: string;
}

/** What a SET means in a plan. */
export function readSet(
  statement: StatementText,
  reading: Reading,
): StatementText & (SetStatement | Refused) {
  const { words, sql } = statement;
  const modes = modesIn(words.join(" "));
  if (modes !== undefined) return { ...statement, does: "set", forServer: undefined, names: [], ...modes };
  const all = listItems(sql.replace(/^SET\b/i, ""), reading).map(assignment);
  const why = all.find(({ refused }) => refused !== undefined)?.refused;
  if (why !== undefined) return { ...statement, does: "refused", error: refusal(words, why) };
  const kept = all.flatMap(({ forServer }) => forServer ?? []);
  const names = all.flatMap((each) => each.names ?? []);
  const [autocommit] = all.flatMap((each) => each.autocommit ?? []);
  const [readOnly] = all.flatMap((each) => each.readOnly ?? []);
  return {
    ...statement,
    does: "set",
    forServer: kept.length === 0 ? undefined : `SET ${kept.join(", ")}`,
    names,
    ...(autocommit !== undefined && { autocommit }),
    ...(readOnly !== undefined && { readOnly }),
  };
}

/** SET TRANSACTION: the isolation is the plan's, and whether a client only reads is its own. */
function modesIn(all: string): { readonly readOnly?: boolean } | undefined {
  if (!/^SET (?:(?:SESSION|LOCAL) )?TRANSACTION\b/.test(all)) return undefined;
  if (/\bREAD ONLY\b/.test(all)) return { readOnly: true };
  return /\bREAD WRITE\b/.test(all) ? { readOnly: false } : {};
}

function assignment(text: string): Assignment {
  if (/^(?:NAMES|CHARACTER SET|CHARSET)\b/i.test(text.replaceAll(/\s+/g, " ")))
    return { forServer: text, names: CHARACTER_SETS };
  if (OF_USER.test(text)) return { forServer: text };
  const { scope, at, name = "", value = "" } = VARIABLE.exec(text)?.groups ?? {};
  if (name === "") return { refused: "it can't be told what it sets" };
  if (/^(?:GLOBAL|PERSIST)/i.test(scope ?? at ?? "") || /^PASSWORD$/i.test(name))
    return { refused: "it would change the server, outside of the plan" };
  return variable(name.toLowerCase(), value, text);
}

function variable(name: string, value: string, text: string): Assignment {
  if (name === "autocommit" || READ_ONLY.test(name)) {
    const isOn = TRUE.test(value) ? true : FALSE.test(value) ? false : undefined;
    if (isOn === undefined) return { refused: `${name} has to be given as 0 or 1` };
    return name === "autocommit" ? { autocommit: isOn } : { readOnly: isOn };
  }
  if (name === "innodb_snapshot_isolation") return { refused: "by it the plan notices changes of others" };
  if (WITHOUT_MEANING.test(name)) return {};
  return OF_STATEMENTS.test(name) ? { forServer: text } : { forServer: text, names: [name] };
}
