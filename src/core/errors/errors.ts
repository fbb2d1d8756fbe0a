/**
 * Every error that Drydock throws on purpose. One base class: a code for programs, a message that says what
 * happened, a hint that says what to do, facts as fields, the cause kept once. Subclasses are named for what
 * the caller should do about them. Anything else that is thrown is a defect and stays itself.
 *
 * A hint that names an option, a function or a command depends on who reads it. It is not given with the
 * error: the code and the facts say enough for the library's table (error-codes.ts) and those of others
 * (reader-hints.ts). A hint that is given with an error is in words that hold for all of them.
 */

import { isProtected } from "../self-running/protector.ts";
import type { SelfRunningFile } from "../self-running/self-running-rules.ts";
import type { CheckResult } from "../values/checks.ts";
import { type Errno, type ErrorCode, hintOfCode } from "./error-codes.ts";

/** The options of every error of ours. */
export interface DrydockErrorOptions {
  /** What to do about it. Default: that of the code. */
  readonly hint?: string;
  readonly cause?: unknown;
  /** Default: the code of the class. */
  readonly code?: ErrorCode;
  /** Facts besides those of the class. */
  readonly details?: ErrorDetails;
}

/** Facts for programs; part of the `--json` output. */
export interface ErrorDetails {
  readonly [fact: string]: unknown;
}

export class DrydockError extends Error {
  readonly code: ErrorCode;
  readonly hint: string;
  readonly #details: ErrorDetails;

  constructor(code: ErrorCode, message: string, options: DrydockErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code ?? code;
    this.hint = options.hint ?? hintOfCode(this.code);
    this.#details = options.details ?? {};
  }

  get details(): ErrorDetails {
    return this.#details;
  }
}

/** The request itself is wrong: bad arguments, an unknown plan, an unsafe resource. Nothing was changed. */
export class UsageError extends DrydockError {
  constructor(message: string, options: DrydockErrorOptions = {}) {
    super("USAGE", message, options);
  }
}

/** drydock.yaml is wrong. Nothing was changed. */
export class ConfigError extends DrydockError {
  readonly file: string;
  readonly line: number | undefined;
  readonly column: number | undefined;

  constructor(
    message: string,
    options: DrydockErrorOptions & { file: string; line?: number; column?: number },
  ) {
    super("CONFIG", message, options);
    this.file = options.file;
    this.line = options.line;
    this.column = options.column;
  }

  override get details(): ErrorDetails {
    return { ...super.details, file: this.file, line: this.line, column: this.column };
  }
}

/**
 * This machine or file system can't do what was asked; the message gives the reason. Nothing was changed.
 */
export class UnsupportedError extends DrydockError {
  constructor(message: string, options: DrydockErrorOptions = {}) {
    super("UNSUPPORTED", message, options);
  }
}

/** Another process holds what is needed. Nothing was changed; trying again later may succeed. */
export class BusyError extends DrydockError {
  readonly holder: string;

  constructor(message: string, options: DrydockErrorOptions & { holder: string }) {
    super("BUSY", message, options);
    this.holder = options.holder;
  }

  override get details(): ErrorDetails {
    return { ...super.details, holder: this.holder };
  }
}

/** The durable state can't be used: corrupt, read-only, or written by a newer Drydock. */
export class StateError extends DrydockError {
  constructor(message: string, options: DrydockErrorOptions = {}) {
    super("STATE", message, options);
  }
}

/** The work was interrupted (Ctrl-C, SIGTERM, an abort signal) before anything was decided. */
export class InterruptedError extends DrydockError {
  constructor(message = "Interrupted before anything was changed.", options: DrydockErrorOptions = {}) {
    super("INTERRUPTED", message, options);
  }
}

/** A system call failed. `code` is the name of the errno. */
export class SystemCallError extends DrydockError {
  declare readonly code: Errno;
  readonly call: string;
  readonly path: string;

  constructor(errno: Errno, call: string, path: string, description: string) {
    super(errno, `${call} failed on ${path}: ${description} (${errno})`, {
      hint: systemCallHint(errno, path),
    });
    this.call = call;
    this.path = path;
  }

  override get details(): ErrorDetails {
    return { ...super.details, call: this.call, path: this.path };
  }
}

/** A git command failed, or did not end in time. `said` is its output. */
export class GitError extends DrydockError {
  /** The command, without the settings that every command gets. */
  readonly command: string;
  /** Undefined if it was ended because it took too long. */
  readonly exitCode: number | undefined;
  readonly said: string;

  constructor(
    message: string,
    options: DrydockErrorOptions & { command: string; exitCode: number | undefined; said: string },
  ) {
    super("GIT", message, { hint: "Look at what git says, mend it, and try again.", ...options });
    this.command = options.command;
    this.exitCode = options.exitCode;
    this.said = options.said;
  }

  override get details(): ErrorDetails {
    return { ...super.details, command: this.command, exitCode: this.exitCode, said: this.said };
  }
}

/** A user's SQL statement failed. Nothing of it remains, unless it was about transactions itself. */
export class StatementError extends DrydockError {
  constructor(message: string, options: DrydockErrorOptions = {}) {
    super("SQL", message, { hint: "Correct it and try again.", ...options });
  }
}

function systemCallHint(errno: string, path: string): string {
  if (errno === "ENOSPC" || errno === "EDQUOT")
    return `Make room on the file system of ${path} and try again.`;
  if (errno === "EACCES" || errno === "EPERM")
    return `Check the permissions of ${path}, or run as its owner.`;
  if (errno === "EROFS") return `${path} is on a read-only file system; remount it writable.`;
  if (errno === "EIO") return "The device reports errors; check the kernel log before trying again.";
  if (errno === "EXDEV" || errno === "ELOOP")
    return `${path} is a link, or leads out of the folder it should be in.`;
  return `Check ${path} and try again.`;
}

/** A plan is not in a state that allows this: it is in `state` and can't become `to`. */
export class PlanStateError extends DrydockError {
  readonly state: string;
  readonly to: string;

  constructor(plan: { readonly id: string; readonly name: string; readonly state: string }, to: string) {
    super("PLAN_STATE", `Plan ${plan.name} (${plan.id}) is ${plan.state} and cannot become ${to}.`);
    this.state = plan.state;
    this.to = to;
  }

  override get details(): ErrorDetails {
    return { ...super.details, state: this.state, to: this.to };
  }
}

/**
 * A custom strategy can't be used: it can't be loaded, is not a strategy, or is not the one that made a
 * sandbox. `code` says which: STRATEGY_MODULE, STRATEGY_EXPORT, STRATEGY_CONSTRUCTOR, STRATEGY_OPTIONS,
 * BAD_STRATEGY, STRATEGY_NAME or STRATEGY_CHANGED.
 */
export class StrategyUnavailableError extends DrydockError {
  readonly strategy: string;

  constructor(message: string, options: DrydockErrorOptions & { strategy: string; code: ErrorCode }) {
    super("STRATEGY", message, options);
    this.strategy = options.strategy;
  }

  override get details(): ErrorDetails {
    return { ...super.details, strategy: this.strategy };
  }
}

/** A sandbox is not in a state that allows this. */
export class SandboxStateError extends DrydockError {
  readonly from: string;
  readonly to: string;

  constructor(message: string, options: DrydockErrorOptions & { from: string; to: string }) {
    super("SANDBOX_STATE", message, options);
    this.from = options.from;
    this.to = options.to;
  }

  override get details(): ErrorDetails {
    return { ...super.details, from: this.from, to: this.to };
  }
}

/** A sandbox could not be made. Nothing of it remains. */
export class SandboxCreationError extends DrydockError {
  constructor(message: string, options: DrydockErrorOptions = {}) {
    super("SANDBOX_CREATION", message, options);
  }
}

/** A sandbox could not be committed. */
export class SandboxCommitError extends DrydockError {
  constructor(message: string, options: DrydockErrorOptions = {}) {
    super("SANDBOX_COMMIT", message, options);
  }
}

/** A sandbox could not be rolled back. */
export class SandboxRollbackError extends DrydockError {
  constructor(message: string, options: DrydockErrorOptions = {}) {
    super("SANDBOX_ROLLBACK", message, options);
  }
}

/** A path that both the plan and another writer changed. */
export interface Conflict {
  /** The resource's name; filled in by the commit, which knows it. */
  readonly resource?: string;
  readonly path: string;
  readonly why: string;
}

/**
 * The original changed meanwhile, at paths that the plan changes too. The error names every such path;
 * nothing was changed.
 */
export class SandboxConflictError extends DrydockError {
  readonly conflicts: readonly Conflict[];

  constructor(conflicts: readonly Conflict[], options: DrydockErrorOptions & { message?: string } = {}) {
    const first = conflicts[0];
    const more = conflicts.length > 1 ? ` and ${conflicts.length - 1} more` : "";
    super(
      "CONFLICT",
      options.message ?? `The original changed meanwhile: ${first?.path} (${first?.why})${more}.`,
      options,
    );
    this.conflicts = conflicts;
  }

  override get details(): ErrorDetails {
    return { ...super.details, conflicts: this.conflicts };
  }
}

/**
 * A plan would land files that tools run by themselves, without the user's word. The error names every such
 * file; nothing was changed.
 */
export class SelfRunningError extends DrydockError {
  readonly files: readonly SelfRunningFile[];

  constructor(files: readonly SelfRunningFile[], options: DrydockErrorOptions = {}) {
    const [first] = files;
    const more = files.length > 1 ? ` and ${files.length - 1} more` : "";
    super(
      "SELF_RUNNING",
      files.every(isProtected)
        ? `A policy protects ${first?.path}${more}, and it takes your word to land that.`
        : `Tools run ${first?.path}${more} by themselves, and it takes your word to land that.`,
      options,
    );
    this.files = files;
  }

  override get details(): ErrorDetails {
    return { ...super.details, selfRunning: this.files };
  }
}

/** A message about one participant. */
export interface ParticipantReport {
  readonly resource: string;
  readonly message: string;
}

/** The outcome of a failed commit. */
export interface AtomicCommitFailure {
  readonly failed: ParticipantReport;
  /** Resources that are as before. */
  readonly undone: readonly string[];
  /** Resources that are not, or may not be, as before. */
  readonly notUndone: readonly ParticipantReport[];
  readonly conflicts: readonly Conflict[];
  /** Files that land only with the user's word, which was not given. */
  readonly selfRunning?: readonly SelfRunningFile[];
  /** The check that failed. */
  readonly check?: CheckResult;
  /** For an undo: plans that landed in the same originals later, the latest first. */
  readonly later?: readonly { readonly planId: string; readonly name: string }[];
  /** The code of the error that stopped the commit, if it is one of ours. */
  readonly reason?: ErrorCode;
  /** What is not settled yet; absent if everything is. */
  readonly pending?: PendingCommit;
}

/**
 * What is not settled after a failed commit. The next opening of the state directory
 * - `finish`: finishes what could not land, because the commit is decided.
 * - `take-back`: takes back what could not be taken back.
 * - `find-out`: finds out which of the two it is, because the decision could not be written.
 *
 * `in-doubt` waits for a person's word: it is unknown whether an irreversible participant has landed.
 */
export type PendingCommit = "finish" | "take-back" | "find-out" | "in-doubt";

/**
 * The only error by which an apply or an undo fails. Unless `notUndone` says otherwise, every original is
 * untouched and all work is still there.
 */
export class AtomicCommitError extends DrydockError {
  readonly failed: ParticipantReport;
  readonly undone: readonly string[];
  readonly notUndone: readonly ParticipantReport[];
  readonly conflicts: readonly Conflict[];
  readonly selfRunning: readonly SelfRunningFile[];
  /** The check that failed. */
  readonly check?: CheckResult;
  /** For an undo: plans that landed in the same originals later, the latest first. */
  readonly later: readonly { readonly planId: string; readonly name: string }[];
  /** The code of `cause`, if that is an error of ours. */
  readonly reason?: ErrorCode;
  readonly pending?: PendingCommit;

  constructor(message: string, failure: AtomicCommitFailure, options: DrydockErrorOptions = {}) {
    super("ATOMIC_COMMIT", message, options);
    this.failed = failure.failed;
    this.undone = failure.undone;
    this.notUndone = failure.notUndone;
    this.conflicts = failure.conflicts;
    this.selfRunning = failure.selfRunning ?? [];
    this.later = failure.later ?? [];
    if (failure.check !== undefined) this.check = failure.check;
    if (failure.reason !== undefined) this.reason = failure.reason;
    if (failure.pending !== undefined) this.pending = failure.pending;
  }

  override get details(): ErrorDetails {
    const { failed, undone, notUndone, conflicts, selfRunning, check, later, reason, pending } = this;
    const found = {
      ...(reason && { reason }),
      ...(pending && { pending }),
      ...(selfRunning.length > 0 && { selfRunning }),
      ...(check && { check }),
      ...(later.length > 0 && { later }),
    };
    return { ...super.details, failed, undone, notUndone, conflicts, ...found };
  }
}

/** The message of anything that was thrown, an Error or not. */
export function messageOf(thrown: unknown): string {
  try {
    return thrown instanceof Error ? thrown.message : String(thrown);
  } catch {
    return "something was thrown that can't be shown";
  }
}

/** The hint of an error, if it has one. */
export function hintOf(thrown: unknown): string | undefined {
  return thrown instanceof DrydockError ? thrown.hint : undefined;
}
