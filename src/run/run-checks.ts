import { CheckFailedError } from "../core/errors/check-failed-error.ts";
import { SandboxConflictError } from "../core/errors/errors.ts";
import type { PlanRecord } from "../core/plan.ts";
import type { Check, CheckResult } from "../core/values/checks.ts";
import type { Session } from "../sandboxes/access/session.ts";
import { capture } from "./capture.ts";
import type { Runs } from "./runs.ts";

export interface ChecksParts {
  readonly session: Session;
  readonly runs: Runs;
  /** The digest of what would land now. */
  readonly digest: () => Promise<string>;
  /** Saves the plan and returns the way back to that; nothing, if it can't be saved. */
  readonly save: () => Promise<(() => Promise<void>) | undefined>;
}

/** The most bytes of a check's output that the log keeps. */
const MOST_OUTPUT = 32 * 1024;

/**
 * Runs the checks of a plan inside its sandboxes, one after the other, until one fails. A check only looks:
 * whatever it writes there is taken back. Returns the digest of what passed, so that nothing else lands.
 */
export async function runChecks(
  parts: ChecksParts,
  plan: PlanRecord,
  checks: readonly Check[],
): Promise<string> {
  const { operations } = parts.session;
  const [digest, bringBack] = [await parts.digest(), await parts.save()];
  const isChanged = async () => (await parts.digest()) !== digest;
  try {
    for (const [done, check] of checks.entries()) {
      operations.progress({ task: `checking: ${nameOf(check)}`, done, total: checks.length });
      await runCheck(parts, plan, check, digest);
    }
  } finally {
    if (bringBack !== undefined && (await isChanged())) await bringBack();
  }
  if (await isChanged()) throw changedMeanwhile();
  return digest;
}

async function runCheck(
  { session, runs }: ChecksParts,
  plan: PlanRecord,
  check: Check,
  digest: string,
): Promise<void> {
  const request = {
    // One pipe for both outputs keeps their order.
    command: ["sh", "-c", `exec 2>&1; ${check.run}`],
    limits: { time: check.time },
    signal: session.operations.signal,
    checkpoint: false,
    maxOutputBytes: MOST_OUTPUT,
  };
  // Its own entry in the log has the output.
  const ended = await capture(runs, plan.id, request, { output: false });
  const { stdout, exitCode, durationMs, signal, limit } = ended;
  const result: CheckResult = {
    check: nameOf(check),
    command: check.run,
    ...{ exitCode, durationMs },
    ...(signal !== undefined && { signal }),
    ...(limit !== undefined && { limit }),
    output: stdout.text,
  };
  await session.history.note(plan.id, "checked", { ...result, digest });
  // A check that met a limit did not do its work, whatever its exit code is.
  if (exitCode !== 0 || limit !== undefined) throw new CheckFailedError(result);
}

function nameOf({ name, run }: Check): string {
  return name ?? run;
}

function changedMeanwhile(): SandboxConflictError {
  return new SandboxConflictError([], {
    message: "What would land is no longer what the checks looked at.",
    code: "DIGEST_DIFFERS",
  });
}
