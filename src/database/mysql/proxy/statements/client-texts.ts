import type { ClientError } from "../protocol/wire.ts";
import { type ClientStatement, clientStatements } from "./client-statement.ts";
import type { Reading } from "./statement-text.ts";

/** What a server says to a text that is no statement. */
export const EMPTY: ClientError = { code: 1065, state: "42000", message: "Query was empty" };

/** What a server says to several statements where it takes one: `rest` is where the second one begins. */
export function oneTooMany(rest: ClientStatement | undefined): ClientError {
  const near = rest?.written.slice(0, 80) ?? "";
  return {
    code: 1064,
    state: "42000",
    message: `You have an error in your SQL syntax: one statement was expected, near '${near}'`,
  };
}

/**
 * The statements of a text, one after the other. A statement may change how the server reads those after it:
 * each is read when it is its turn.
 */
export function* statementsIn(
  text: string,
  readingNow: () => Reading,
): Generator<{ readonly statement: ClientStatement; readonly hasMore: boolean }> {
  let reading = readingNow();
  let [rest, waiting] = [text, clientStatements(text, reading)];
  for (let statement = waiting.shift(); statement !== undefined; statement = waiting.shift()) {
    // Whether there is another one does not depend on how it is read.
    yield { statement, hasMore: waiting.length > 0 };
    const now = readingNow();
    if (isSame(now, reading)) continue;
    reading = now;
    rest = rest.slice(statement.end);
    waiting = clientStatements(rest, reading);
  }
}

function isSame(a: Reading, b: Reading): boolean {
  return a.noBackslashes === b.noBackslashes && a.ansiQuotes === b.ansiQuotes && a.isUtf8 === b.isUtf8;
}
