/**
 * Cuts the text of a client into statements, and writes each anew so that the server can't read it in another
 * way than we do: comments are left out, and the text of `/*! … *\/` stands there plainly if this server
 * would run it. So the first word, which says what a statement is, is the same for both. That a text is one
 * statement the server checks itself, because Drydock's connection allows no others: a string that we end
 * elsewhere than the server does hides nothing.
 *
 * Texts are bytes, in any character set that contains ASCII; here each byte is one character.
 */
export interface StatementText {
  /** As the server gets it. */
  readonly sql: string;
  /** As the client wrote it. */
  readonly written: string;
  /** The words in capitals, without quoted text; the first one is "(" if the statement begins with it. */
  readonly words: readonly string[];
  /** The names of the user's variables in it, in small letters. */
  readonly variables: readonly string[];
  /** Whether the server may find other words in it. */
  readonly isUnclear: boolean;
  /** Where the next statement of the text begins. */
  readonly end: number;
}

/** How a server reads texts. */
export interface Reading {
  readonly isMaria: boolean;
  /** Such as 101119 for 10.11.19. */
  readonly version: number;
  /** A backslash in a string is just that. */
  readonly noBackslashes: boolean;
  /** Double quotes are around names, in which a backslash is just that. */
  readonly ansiQuotes: boolean;
  readonly isUtf8: boolean;
}

interface OpenStatement {
  readonly parts: string[];
  isEmpty: boolean;
  from: number;
  words: string[];
  variables: string[];
  isUnclear: boolean;
}

const SPACE = /[\t-\r \0]+|#[^\n]*|--(?=[\0-\x20\x7f]|$)[^\n]*/y;
const WORD = /[\w$\u0080-\u00ff]+/y;
const VARIABLE = /@([\w$.\u0080-\u00ff]+)/y;
const RUNS_HERE = /\/\*(M?)!(\d{5,6})?/y;

/** The statements of a text, in order. Space and comments alone are no statement. */
export function statementTexts(text: string, reading: Reading): StatementText[] {
  const statements: StatementText[] = [];
  let open = begin(0);
  /** How many comments that are no comments are open. */
  let inside = 0;
  const end = (at: number) => {
    if (!open.isEmpty)
      statements.push({
        sql: open.parts.join("").trim(),
        written: text.slice(open.from, at).trim(),
        words: open.words,
        variables: open.variables,
        isUnclear: open.isUnclear && !reading.isUtf8,
        end: Math.min(at + 1, text.length),
      });
    open = begin(at + 1);
  };
  for (let at = 0; at < text.length; ) {
    const [found, length] = tokenAt(text, at, reading, inside);
    const token = text.slice(at, at + length);
    if (found === "end" && inside === 0) end(at);
    else if (found === "open") inside += 1;
    else if (found === "close") inside -= 1;
    if (found === "space" || found === "open" || found === "close") open.parts.push(" ");
    else if (found !== "end" || inside > 0) take(open, found, token);
    at += length;
  }
  end(text.length);
  return statements;
}

function begin(from: number): OpenStatement {
  return { parts: [], isEmpty: true, from, words: [], variables: [], isUnclear: false };
}

function take(open: OpenStatement, found: Found, token: string): void {
  // A statement begins with a word or a parenthesis. What comes before a word could make it something else.
  if (open.isEmpty && found !== "word") open.words.push(token.startsWith("(") ? "(" : "?");
  open.isEmpty = false;
  if (found === "word") open.words.push(token.toUpperCase());
  if (found === "variable") {
    const [, plain = token.slice(2, -1)] = /^@([^'"`].*)$/s.exec(token) ?? [];
    open.variables.push(plain.toLowerCase());
  }
  if (found !== "quoted" && /[\u0080-\u00ff]/.test(token)) open.isUnclear = true;
  // Two of them could be a comment to the server.
  if (token === "-" && open.parts.at(-1) === "-") open.parts.push(" ");
  open.parts.push(token);
}

type Found = "space" | "end" | "word" | "variable" | "quoted" | "open" | "close" | "other";

function tokenAt(text: string, at: number, reading: Reading, inside: number): readonly [Found, number] {
  const space = matchAt(SPACE, text, at);
  if (space !== undefined) return ["space", space[0].length];
  const character = text[at] ?? "";
  if (character === ";") return ["end", 1];
  if (inside > 0 && text.startsWith("*/", at)) return ["close", 2];
  if (text.startsWith("/*", at)) return commentAt(text, at, reading);
  if (`'"\``.includes(character)) return ["quoted", quotedLength(text, at, reading)];
  if (character === "@" && text[at + 1] === "@") return ["other", 2];
  if (character === "@" && `'"\``.includes(text[at + 1] ?? " "))
    return ["variable", 1 + quotedLength(text, at + 1, reading)];
  const variable = character === "@" ? matchAt(VARIABLE, text, at) : undefined;
  if (variable !== undefined) return ["variable", variable[0].length];
  const word = matchAt(WORD, text, at);
  return word === undefined ? ["other", 1] : ["word", word[0].length];
}

function matchAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

function commentAt(text: string, at: number, reading: Reading): readonly [Found, number] {
  const runs = matchAt(RUNS_HERE, text, at);
  if (runs !== undefined && isRun(runs, reading)) return ["open", runs[0].length];
  return ["space", endOfComment(text, at, runs !== undefined) - at];
}

/** MariaDB leaves out what is meant for versions of MySQL that it does not follow. */
function isRun([, mark, digits]: RegExpExecArray, { isMaria, version }: Reading): boolean {
  if (mark === "M" && !isMaria) return false;
  if (digits === undefined) return true;
  const asked = Number(digits);
  const isOfMysql = isMaria && mark !== "M" && asked >= 50700 && asked <= 99999;
  return asked <= version && !isOfMysql;
}

/** In what a server leaves out by its version, comments may be inside. */
function endOfComment(text: string, start: number, mayHoldOthers: boolean): number {
  for (let at = start + 2; at < text.length; at += 1) {
    if (mayHoldOthers && text.startsWith("/*", at)) at = endOfComment(text, at, false) - 1;
    else if (text.startsWith("*/", at)) return at + 2;
  }
  return text.length;
}

function quotedLength(text: string, start: number, { noBackslashes, ansiQuotes }: Reading): number {
  const mark = text[start] ?? "";
  const escapes = !noBackslashes && (mark === "'" || (mark === '"' && !ansiQuotes));
  for (let at = start + 1; at < text.length; at += 1) {
    if (escapes && text[at] === "\\") at += 1;
    else if (text[at] === mark && text[at + 1] === mark) at += 1;
    else if (text[at] === mark) return at + 1 - start;
  }
  return text.length - start;
}

/** The items of a list, which commas outside of quotes and parentheses part. */
export function listItems(text: string, reading: Reading): string[] {
  const items: string[] = [];
  let [item, depth] = ["", 0];
  for (let at = 0; at < text.length; ) {
    const [found, length] = tokenAt(text, at, reading, 0);
    const token = text.slice(at, at + length);
    if (found === "other") depth += token === "(" ? 1 : token === ")" ? -1 : 0;
    if (token === "," && depth === 0) {
      items.push(item.trim());
      item = "";
    } else item += found === "space" ? " " : token;
    at += length;
  }
  return [...items, item.trim()];
}
