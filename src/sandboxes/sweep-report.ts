import { DrydockError, SandboxRollbackError } from "../core/errors/errors.ts";
import type { SandboxRef } from "../core/sandbox.ts";

/** The result of an operation on every sandbox of a plan. One failure does not stop the others. */
export interface SweepReport {
  /** The names of the resources whose sandboxes are done. */
  readonly done: readonly string[];
  readonly failed: readonly {
    readonly resource: string;
    readonly message: string;
    readonly cause: unknown;
    /** The sandbox, if it can't be reached here: its strategy is missing, or is not the one that made it. */
    readonly outOfReach?: SandboxRef;
  }[];
}

/** Throws all failures in one error. */
export function throwIfFailed({ failed }: SweepReport): void {
  const first = failed[0];
  if (first === undefined) return;
  if (failed.length === 1 && first.cause instanceof DrydockError) throw first.cause;
  throw new SandboxRollbackError(
    failed.map(({ resource, message }) => `${resource}: ${message}`).join("; "),
    {
      cause: first.cause,
      hint: "Mend the causes and try again.",
    },
  );
}
