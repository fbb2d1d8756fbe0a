import type { Change } from "../../../core/change.ts";
import type { LoggedStatement } from "../holder-protocol.ts";

/**
 * What the statements of a transaction would change when it lands, one change for each that may change
 * anything, in their order.
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
