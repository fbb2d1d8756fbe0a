import type { ClientError } from "../protocol/wire.ts";
import type { Reading } from "./statement-text.ts";

/** The second byte of a letter may be a backslash or a quotation mark: a string ends elsewhere. */
const HIDING = /^(?:big5|cp932|gbk|gb18030|sjis)$/;
const UTF8 = /^utf8(?:mb[34])?$/;

export const CLIENT_CHARACTER_SET = "character_set_client";
export const SQL_MODE = "sql_mode";

/** Why a client can't have a character set in a plan; undefined if it can. */
export function whyNotWritten(characterSet: string): ClientError | undefined {
  const name = plain(characterSet);
  if (!HIDING.test(name)) return undefined;
  return {
    code: 1115,
    state: "42000",
    message: `The character set ${name} can't be used in a plan: a byte of a letter can stand for a quotation mark in it; use utf8mb4`,
  };
}

/** How the server reads texts with these settings, which are SQL. */
export function readingWith(
  valueIn: (name: string) => string,
): Pick<Reading, "noBackslashes" | "ansiQuotes" | "isUtf8"> {
  const modes = plain(valueIn(SQL_MODE)).toUpperCase().split(",");
  return {
    noBackslashes: modes.includes("NO_BACKSLASH_ESCAPES"),
    ansiQuotes: modes.includes("ANSI_QUOTES"),
    isUtf8: UTF8.test(plain(valueIn(CLIENT_CHARACTER_SET))),
  };
}

function plain(value: string): string {
  return value.replaceAll("'", "").toLowerCase();
}
