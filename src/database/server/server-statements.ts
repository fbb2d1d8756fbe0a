/**
 * Cuts a script into its statements, as the servers see them. Both drivers send each statement by itself, so
 * a server refuses a text with more than one. The result serves to distinguish statements and to refuse some
 * of them; it is not a security boundary.
 *
 * - PostgreSQL: comments nest; `$tag$ … $tag$` is a string; `E'…'` has escapes, also where it goes on in
 *   another line; semicolons in parentheses (CREATE RULE) and between BEGIN ATOMIC and its END (CREATE
 *   FUNCTION) belong to the statement.
 * - MySQL: strings have escapes, and may have double quotes; `#` and `-- ` begin comments; the text in `/*! …
 *   *\/` is no comment but runs.
 */
export type Dialect = "postgres" | "mysql";

export interface ScriptStatement {
  /** The text with its comments, without the final semicolon. */
  readonly sql: string;
  /** The words in capitals, without quoted text; the first one is "(" if the statement begins with it. */
  readonly words: readonly string[];
  /** What follows a COPY … FROM stdin in a script. */
  readonly data?: string;
}

interface Token {
  readonly kind: "space" | "semicolon" | "word" | "quoted" | "other";
  readonly text: string;
  readonly at: number;
}

const WORD = String.raw`(?<word>[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)`;
const PATTERNS: { readonly [dialect in Dialect]: RegExp } = {
  postgres: new RegExp(
    [
      String.raw`(?<space>\s+|--[^\n\r]*)`,
      "(?<semicolon>;)",
      String.raw`(?<quoted>[eE]'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*(?:'[ \t\f\r]*\n\s*'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*)*(?:'|$)|'[^']*(?:''[^']*)*(?:'|$)|"[^"]*(?:""[^"]*)*(?:"|$))`,
      String.raw`(?<dollar>\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$)`,
      WORD,
      String.raw`(?<other>[\s\S])`,
    ].join("|"),
    "y",
  ),
  mysql: new RegExp(
    [
      String.raw`(?<space>\s+|#[^\n]*|--(?=\s|$)[^\n]*|/\*M?!\d*|\*/|/\*(?!M?!)[\s\S]*?(?:\*/|$))`,
      "(?<semicolon>;)",
      String.raw`(?<quoted>'[^'\\]*(?:(?:\\[\s\S]|'')[^'\\]*)*(?:'|$)|"[^"\\]*(?:(?:\\[\s\S]|"")[^"\\]*)*(?:"|$)|\`(?:[^\`]|\`\`)*(?:\`|$))`,
      WORD,
      String.raw`(?<other>[\s\S])`,
    ].join("|"),
    "y",
  ),
};

/** What a script for PostgreSQL's own client has beside statements. Each returns where the rest begins. */
export interface ScriptExtras {
  /** Is there a command of the client at this place? Undefined if not. */
  commandAt(script: string, at: number): number | undefined;
  /** The data that follow a statement; undefined if it takes none. */
  dataAfter(
    statement: ScriptStatement,
    script: string,
    at: number,
  ): { readonly data: string; readonly end: number } | undefined;
}

/** The statements of a text, in order. Space and comments alone are no statement. */
export function statementsOf(text: string, dialect: Dialect, extras?: ScriptExtras): ScriptStatement[] {
  const statements: ScriptStatement[] = [];
  const open = new OpenStatement();
  for (let at = 0; at < text.length; ) {
    const command = open.isEmpty ? extras?.commandAt(text, at) : undefined;
    if (command !== undefined) {
      at = command;
      open.restart(at);
      continue;
    }
    const token = tokenAt(text, dialect, at);
    at += token.text.length;
    if (token.kind === "semicolon" && !(dialect === "postgres" && open.keepsSemicolons)) {
      if (!open.isEmpty) {
        const statement = { sql: text.slice(open.from, token.at).trim(), words: open.words };
        const { data, end = at } = extras?.dataAfter(statement, text, at) ?? {};
        statements.push(data === undefined ? statement : { ...statement, data });
        at = end;
      }
      open.restart(at);
    } else open.take(token);
  }
  if (open.isEmpty) return statements;
  const last = { sql: text.slice(open.from).trim(), words: open.words };
  extras?.dataAfter(last, text, text.length);
  return [...statements, last];
}

const BEGINS = /^(?:BEGIN|START TRANSACTION)(?: WORK| TRANSACTION)?(?: READ WRITE)?$/;
const COMMITS = /^(?:COMMIT|END)(?: WORK| TRANSACTION)?$/;

/**
 * The statements of a script that runs as one unit in any case: without the BEGIN and COMMIT around some of
 * them, which say just that. Where these do not belong together, nothing is left out.
 */
export function withoutOwnTransactions(statements: readonly ScriptStatement[]): readonly ScriptStatement[] {
  const kept: ScriptStatement[] = [];
  let isInside = false;
  for (const statement of statements) {
    const words = statement.words.join(" ");
    if (BEGINS.test(words) && !isInside) isInside = true;
    else if (COMMITS.test(words) && isInside) isInside = false;
    else kept.push(statement);
  }
  return isInside ? statements : kept;
}

/** The statement that is being read. */
class OpenStatement {
  from = 0;
  words: string[] = [];
  isEmpty = true;
  #parentheses = 0;
  #blocks = 0;

  /** Whether a semicolon would be part of the statement. */
  get keepsSemicolons(): boolean {
    return this.#parentheses > 0 || this.#blocks > 0;
  }

  restart(from: number): void {
    this.from = from;
    this.words = [];
    this.isEmpty = true;
    this.#parentheses = 0;
    this.#blocks = 0;
  }

  take({ kind, text }: Token): void {
    if (kind === "space") return;
    if (this.isEmpty && text === "(") this.words.push("(");
    this.isEmpty = false;
    if (text === "(") this.#parentheses += 1;
    if (text === ")") this.#parentheses -= 1;
    if (kind === "word") this.#takeWord(text.toUpperCase());
  }

  #takeWord(word: string): void {
    this.words.push(word);
    if (this.words[0] !== "CREATE") return;
    if (word === "ATOMIC" && this.words.at(-2) === "BEGIN") this.#blocks += 1;
    else if (this.#blocks > 0 && word === "CASE") this.#blocks += 1;
    else if (this.#blocks > 0 && word === "END") this.#blocks -= 1;
  }
}

function tokenAt(script: string, dialect: Dialect, at: number): Token {
  const pattern = PATTERNS[dialect];
  pattern.lastIndex = at;
  const { groups = {}, 0: text = "" } = pattern.exec(script) ?? {};
  return whole(script, dialect, { at, text, groups });
}

interface Match {
  readonly at: number;
  readonly text: string;
  readonly groups: { readonly [name: string]: string | undefined };
}

function whole(script: string, dialect: Dialect, { at, text, groups }: Match): Token {
  if (dialect === "postgres" && script.startsWith("/*", at))
    return { kind: "space", text: script.slice(at, endOfNestedComment(script, at)), at };
  if (groups["dollar"] !== undefined) {
    const end = script.indexOf(text, at + text.length);
    return { kind: "quoted", text: script.slice(at, end < 0 ? undefined : end + text.length), at };
  }
  const kind = (["space", "semicolon", "word", "quoted"] as const).find((name) => groups[name] !== undefined);
  return { kind: kind ?? "other", text, at };
}

function endOfNestedComment(script: string, start: number): number {
  let depth = 0;
  for (let at = start; at < script.length; at += 1) {
    const pair = script.slice(at, at + 2);
    if (pair !== "/*" && pair !== "*/") continue;
    depth += pair === "/*" ? 1 : -1;
    at += 1;
    if (depth === 0) return at + 1;
  }
  return script.length;
}
