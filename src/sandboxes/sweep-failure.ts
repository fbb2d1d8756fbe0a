import { DrydockError, SandboxRollbackError } from "../core/errors.ts";
import type { SweepReport } from "./sweep-report.ts";

/** Throws what could not be done to the sandboxes of a plan, all of it in one error. */
export function throwIfFailed({ failed }: SweepReport): void {
  const first = failed[0];
  if (first === undefined) return;
  if (failed.length === 1 && first.cause instanceof DrydockError) throw first.cause;
  throw new SandboxRollbackError(failed.map(({ resource, message }) => `${resource}: ${message}`).join("; "), {
    cause: first.cause,
    hint: "Mend the causes and try again.",
  });
}
