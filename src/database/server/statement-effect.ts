import type { ChangeKind, ChangeOperation } from "../../core/change.ts";

/** The effect of a statement, as far as its words show it. */
export interface StatementEffect {
  /** Whether the statement may have changed something. */
  readonly mayWrite: boolean;
  readonly operation: ChangeOperation;
  readonly kind: ChangeKind;
}

const READING = [
  "SELECT",
  "WITH",
  "SHOW",
  "EXPLAIN",
  "VALUES",
  "TABLE",
  "DESCRIBE",
  "DESC",
  "HELP",
  "FETCH",
  "(",
];
const ON_ROWS: { readonly [word: string]: ChangeOperation } = {
  INSERT: "added",
  COPY: "added",
  LOAD: "added",
  REPLACE: "modified",
  UPDATE: "modified",
  MERGE: "modified",
  DELETE: "deleted",
  TRUNCATE: "deleted",
};
const ON_OBJECTS: { readonly [word: string]: ChangeOperation } = {
  CREATE: "added",
  ALTER: "modified",
  DROP: "deleted",
};

/** Whether a statement that begins with this word only reads, unless a function that it calls writes. */
export function isReading(words: readonly string[]): boolean {
  return READING.includes(words[0] ?? "") && !words.some((word) => word in ON_ROWS && word !== "REPLACE");
}

/** The effect of a statement with these words, in capitals; the first few are enough. */
export function effectOf(words: readonly string[], mayWrite: boolean): StatementEffect {
  const [first = ""] = words;
  const rows =
    ON_ROWS[first] ?? words.map((word) => ON_ROWS[word]).find((operation) => operation !== undefined);
  const objects = ON_OBJECTS[first];
  if (objects !== undefined) {
    const kind = words.slice(1, 4).includes("TABLE") ? "table" : "object";
    return { mayWrite, operation: objects, kind };
  }
  return { mayWrite, operation: rows ?? "modified", kind: rows === undefined ? "object" : "row" };
}
