import {
  AtomicCommitError,
  type Conflict,
  DrydockError,
  messageOf,
  SandboxConflictError,
} from "../core/errors/errors.ts";
import { displayPath } from "../core/paths/byte-path.ts";
import { isProtected } from "../core/self-running/protector.ts";
import { commandHint } from "./command-hints.ts";
import { placeOf } from "./render/plan/attention-line.ts";
import type { Styles } from "./render/styles.ts";
import { oneLine } from "./terminal/printable.ts";

const DEFECT_HINT =
  "This is a defect of Drydock. Run the command again with --debug and report what it prints.";

/**
 * The `error` document of `--json`. `planId` names the plan that holds the work, where the error does not.
 */
export function errorDocument(thrown: unknown, planId?: string): object {
  const plan = planId === undefined ? {} : { planId };
  if (thrown instanceof DrydockError) {
    const { code, message, details } = thrown;
    return { error: { code, message, hint: commandHint(thrown), details: { ...details, ...plan } } };
  }
  return { error: { code: "DEFECT", message: messageOf(thrown), hint: DEFECT_HINT, details: plan } };
}

/**
 * The lines of an error on stderr: the problem, the hint, and a line for each resource or file concerned.
 */
export function errorLines(thrown: unknown, styles: Styles, planId?: string): readonly string[] {
  const hint = thrown instanceof DrydockError ? commandHint(thrown) : DEFECT_HINT;
  return [
    `${styles.red("error:")} ${oneLine(messageOf(thrown))}`,
    `  ${styles.cyan("hint:")} ${oneLine(hint)}`,
    ...concerned(thrown).map((line) => `  ${line}`),
    ...(planId === undefined ? [] : [`  plan: ${displayPath(planId)}`]),
  ];
}

/** The stack traces of an error and of its causes, for `--debug`. */
export function traceOf(thrown: unknown): string {
  const trace = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  return cause === undefined ? trace : `${trace}\ncaused by: ${traceOf(cause)}`;
}

function concerned(thrown: unknown): readonly string[] {
  if (thrown instanceof SandboxConflictError) return conflictLines(thrown.conflicts);
  if (!(thrown instanceof AtomicCommitError)) return [];
  return [
    ...conflictLines(thrown.conflicts),
    ...thrown.selfRunning.map(
      ({ resource, path, tool, why }) =>
        `${isProtected({ tool }) ? "protected" : "runs by itself"}: ${placeOf(resource, path)}: ${tool} ${why}`,
    ),
    ...checkLines(thrown.check?.output),
    ...thrown.notUndone.map(
      ({ resource, message }) => `not undone: ${displayPath(resource)}: ${oneLine(message)}`,
    ),
  ];
}

function conflictLines(conflicts: readonly Conflict[]): readonly string[] {
  return conflicts.map(({ resource, path, why }) => `conflict: ${placeOf(resource, path)}: ${oneLine(why)}`);
}

/** The end of what a failed check wrote: its last words are what matters. The log has more. */
function checkLines(output = ""): readonly string[] {
  const lines = output.trimEnd().split("\n");
  const shown = lines.slice(-MOST_CHECK_LINES);
  const left = lines.length - shown.length;
  return [
    ...(left > 0 ? [`check: … ${left} lines before this are in 'drydock plan log --json'`] : []),
    ...shown.filter((line) => line !== "").map((line) => `check: ${oneLine(line)}`),
  ];
}

const MOST_CHECK_LINES = 20;
