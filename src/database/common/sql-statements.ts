/**
 * Cuts a script into its statements, each with its comments and without the final semicolon. It follows the
 * rules of SQLite's own `sqlite3_complete`: strings, quoted names, comments, and semicolons in the body of
 * CREATE TRIGGER up to `;END;`.
 */
export function splitStatements(script: string): string[] {
  const statements: string[] = [];
  let from = 0;
  let words: string[] = [];
  for (const { text, at, kind } of tokens(script)) {
    if (kind === "space") continue;
    if (kind !== "semicolon" || isInsideTrigger(words)) {
      words.push(kind === "semicolon" ? ";" : text.toUpperCase());
      continue;
    }
    if (words.length > 0) statements.push(script.slice(from, at).trim());
    from = at + text.length;
    words = [];
  }
  if (words.length > 0) statements.push(script.slice(from).trim());
  return statements;
}

/**
 * First words of statements that a script inside one transaction can't hold: they begin or end a transaction,
 * or are not allowed in one.
 */
const OWN_TRANSACTION = new Set([
  "BEGIN",
  "COMMIT",
  "END",
  "ROLLBACK",
  "SAVEPOINT",
  "RELEASE",
  "PRAGMA",
  "VACUUM",
  "ATTACH",
  "DETACH",
]);

/** Whether a statement is about transactions, or can't be in one together with others. */
export function managesTransaction(statement: string): boolean {
  for (const { text, kind } of tokens(statement))
    if (kind === "word") return OWN_TRANSACTION.has(text.toUpperCase());
  return false;
}

interface Token {
  readonly text: string;
  readonly at: number;
  readonly kind: "space" | "semicolon" | "word" | "other";
}

const TOKEN = new RegExp(
  [
    String.raw`(?<space>\s+|--[^\n]*|/\*[\s\S]*?(?:\*/|$))`,
    "(?<semicolon>;)",
    String.raw`(?<word>[A-Za-z_\u0080-\uffff][A-Za-z0-9_$\u0080-\uffff]*)`,
    String.raw`(?<other>'(?:[^']|'')*(?:'|$)|"(?:[^"]|"")*(?:"|$)|\`(?:[^\`]|\`\`)*(?:\`|$)|\[[^\]]*(?:\]|$)|[\s\S])`,
  ].join("|"),
  "gy",
);

function* tokens(script: string): Generator<Token> {
  for (const match of script.matchAll(TOKEN)) {
    const groups = match.groups ?? {};
    const kind =
      (["space", "semicolon", "word"] as const).find((name) => groups[name] !== undefined) ?? "other";
    yield { text: match[0], at: match.index, kind };
  }
}

/** Whether these words begin a trigger whose body has not ended. */
function isInsideTrigger(words: readonly string[]): boolean {
  const start = words[0] === "EXPLAIN" ? words.indexOf("CREATE") : 0;
  if (start < 0 || words[start] !== "CREATE") return false;
  const next = words[start + 1] === "TEMP" || words[start + 1] === "TEMPORARY" ? start + 2 : start + 1;
  if (words[next] !== "TRIGGER") return false;
  return !(words.at(-1) === "END" && words.at(-2) === ";");
}
