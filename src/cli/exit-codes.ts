import {
  AtomicCommitError,
  ConfigError,
  SandboxConflictError,
  StrategyUnavailableError,
  UsageError,
} from "../core/errors/errors.ts";

/** The exit codes of commands; programs rely on these numbers. */
export const EXIT = {
  done: 0,
  /** Nothing was changed, or all of it was undone. */
  failed: 1,
  /** Bad arguments, bad config, unknown plan. */
  usage: 2,
  /** The original changed meanwhile; nothing was changed. */
  conflict: 3,
  /** Something could not be undone, or is in doubt. */
  attention: 4,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/**
 * The exit code for an error. Something that could not be undone matters more than the reason of the failure.
 */
export function exitCodeOf(thrown: unknown): ExitCode {
  if (isWrongUse(thrown)) return EXIT.usage;
  if (thrown instanceof SandboxConflictError) return EXIT.conflict;
  if (thrown instanceof AtomicCommitError) {
    if (thrown.notUndone.length > 0) return EXIT.attention;
    if (thrown.conflicts.length > 0 || thrown.cause instanceof SandboxConflictError) return EXIT.conflict;
    // A plan that may not be applied was refused before anything was tried.
    return thrown.cause instanceof UsageError ? EXIT.usage : EXIT.failed;
  }
  return EXIT.failed;
}

function isWrongUse(thrown: unknown): boolean {
  return (
    thrown instanceof UsageError ||
    thrown instanceof ConfigError ||
    thrown instanceof StrategyUnavailableError
  );
}
