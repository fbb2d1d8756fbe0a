import type { Change } from "../../../core/change.ts";
import type { LoggedStatement } from "../holder-protocol.ts";

/**
 * The changes of a transaction that would land: one for each statement that may change anything, in order.
 */
export function statementChanges(log: readonly LoggedStatement[]): Change[] {
  return log
    .filter(({ effect }) => effect.mayWrite)
    .map(({ sql, effect, rows, digest }, index) => ({
      path: `statement-${index + 1}`,
      operation: effect.operation,
      kind: effect.kind,
      after: { digest },
      statement: sql,
      ...(effect.kind === "row" && { rows }),
    }));
}

const NAME = String.raw`(?:"(?:[^"]|"")+"|[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*)`;
const TARGET = new RegExp(
  String.raw`^(?:\s|--[^\n]*\n)*(?:INSERT\s+INTO|UPDATE(?:\s+ONLY)?|DELETE\s+FROM(?:\s+ONLY)?|MERGE\s+INTO(?:\s+ONLY)?)\s+(?<table>${NAME}(?:\s*\.\s*${NAME})?)`,
  "iu",
);

/** The table whose rows a statement changes, as SQL; undefined if its beginning does not name one. */
export function targetOf(statement: string): string | undefined {
  return TARGET.exec(statement)?.groups?.["table"];
}

/** The name of a table, as SQL. */
export function quotedName(name: string): string {
  return name
    .split(".")
    .map((part) => `"${part.replaceAll('"', '""')}"`)
    .join(".");
}
