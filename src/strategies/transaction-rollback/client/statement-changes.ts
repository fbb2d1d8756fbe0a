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
