/**
 * Every code of Drydock's own errors. Programs branch on them, so a code never changes its meaning;
 * docs/library.md says what each one means.
 */
export const ERROR_CODES = [
  "USAGE",
  "BAD_ARGUMENT",
  "BAD_NAME",
  "BAD_PATH",
  "BAD_RESOURCE",
  "BAD_URL",
  "PATH_TOO_LONG",
  "NO_RESOURCE",
  "UNKNOWN_PLAN",
  "AMBIGUOUS_PLAN",
  "UNKNOWN_RESOURCE",
  "UNKNOWN_CHECKPOINT",
  "AMBIGUOUS_CHECKPOINT",
  "UNKNOWN_COMMENT",
  "NAME_TAKEN",
  "LABEL_TAKEN",
  "PLAN_NAME_TAKEN",
  "UNKNOWN_STRATEGY",
  "UNKNOWN_TYPE",
  "NO_SUCH_RESOURCE",
  "NO_SUCH_FILE",
  "NO_SUCH_FOLDER",
  "PATH_TAKEN",
  "NOT_EMPTY",
  "STALE_CURSOR",
  "BAD_RANGE",
  "NO_SUCH_COMMAND",
  "CLOSED",
  "NO_SUCH_EXPORT",
  "NO_ACCESS",
  "NO_STRATEGY",
  "NO_SANDBOX",
  "NO_PATH",
  "NO_QUERY",
  "NO_ENTRIES",
  "NO_MATCH",
  "NO_PARTS",
  "NO_UPDATE",
  "NOT_IN_CONFLICT",
  "CONFLICT_OF_FOLDERS",
  "NO_GIT",
  "WRONG_KIND",
  "WRONG_PARENT",
  "OVERLAP",
  "UNSAFE_RESOURCE",
  "READ_ONLY",
  "NOT_ALLOWED",
  "LEFT_OUT",
  "PART_OF_FILE",
  "PART_OF_FOLDER",
  "IRREVERSIBLE",
  "NOT_APPROVED",
  "CHECK_FAILED",
  "PASSWORD_IN_THE_CLEAR",
  "CONFIG",
  "NO_CONFIG",
  "FOREIGN_CONFIG",
  "UNSUPPORTED",
  "UNSUITABLE_CHECKOUT",
  "FOREIGN_REPOSITORY",
  "NOT_A_DATABASE",
  "DAMAGED",
  "TOO_LARGE",
  "BUSY",
  "CLAIMED",
  "LOCKED",
  "INTERRUPTED",
  "STATE",
  "PLAN_STATE",
  "UNFINISHED_COMMIT",
  "RESTORE_UNFINISHED",
  "UNDO_DISCARDED",
  "DECISION_UNKNOWN",
  "SANDBOX_STATE",
  "SANDBOX_CREATION",
  "SANDBOX_COMMIT",
  "SANDBOX_ROLLBACK",
  "CONFLICT",
  "DIGEST_DIFFERS",
  "SELF_RUNNING",
  "ATOMIC_COMMIT",
  "RESTARTED",
  "REPLACED",
  "IMMUTABLE",
  "HARMFUL_PATH",
  "UNDER_WAY",
  "CHECKED_OUT_TWICE",
  "HOOK_REFUSED",
  "HOOK_CHANGED",
  "GIT",
  "GIT_TIMEOUT",
  "SQL",
  "SERVER_DOWN",
  "TRANSACTION_ENDED",
  "NOT_HELD",
  "HOLDER_DIED",
  "COMMAND_NOT_STARTED",
  "NOT_CONFINED",
  "LIMIT_TOO_LOW",
  "HOLDS_STATE",
  "FUSE_OVERLAY",
  "UNMOUNT",
  "TIMEOUT",
  "STRATEGY",
  "STRATEGY_MODULE",
  "STRATEGY_EXPORT",
  "STRATEGY_CONSTRUCTOR",
  "STRATEGY_OPTIONS",
  "BAD_STRATEGY",
  "STRATEGY_NAME",
  "STRATEGY_CHANGED",
  "STRATEGY_NONSENSE",
  "STRATEGY_TIMEOUT",
  "FOREIGN_SANDBOX",
] as const;

const WAIT = "Wait for it to finish and try again.";

/**
 * What a program can do about an error that has no hint of its own, by its code. Others
 * get the same in their words (reader-hints.ts).
 */
const HINTS: { readonly [code in ErrorCode]?: string } = {
  NO_RESOURCE: "Give `resources` at least one.",
  UNKNOWN_PLAN: "`plans.list({ all: true })` lists every plan, `plans.create` makes one.",
  UNKNOWN_CHECKPOINT: "`checkpoints` lists those that the plan has.",
  PLAN_NAME_TAKEN: "Choose another `name`, or apply or cancel that plan first.",
  NAME_TAKEN: "Give one of them another `name`.",
  NO_SUCH_FILE: "`diff` says what the plan changes; the folder at `path` has all of it.",
  NO_SUCH_FOLDER: "Give `resource` a folder, or MODULE:FUNCTION.",
  NO_STRATEGY:
    "`strategies.list` says what each strategy can isolate, `resourceTypes.list` which types are known.",
  NO_PATH: "Use `exec`, or `read` and `write`; for a database `sql`.",
  NOT_EMPTY: "Remove what is in it first, or use `recursive`.",
  NO_QUERY: "Use `read` and `write`.",
  READ_ONLY: "Make a plan without `readOnly`.",
  NOT_ALLOWED: "`resourceTypes.get` says what the type allows; its `capabilities:` in the config decides.",
  LEFT_OUT: "Use it by its own name, which `show` has.",
  IRREVERSIBLE: "If that is what you want, say so with `allowIrreversible`.",
  NO_CONFIG: "Check the option `config` and DRYDOCK_CONFIG.",
  FOREIGN_CONFIG: "Make it a file that only you can write, or name it by the option `config`.",
  BUSY: WAIT,
  CLAIMED: WAIT,
  INTERRUPTED: "Call it again when you are ready.",
  PLAN_STATE: "`show` says which state the plan is in, `log` how it came there.",
  UNFINISHED_COMMIT: "`recover` finishes it. If that plan is in doubt, `settle` it.",
  RESTORE_UNFINISHED: "Mend the cause; the next opening of the state directory goes on with it.",
  CONFLICT:
    "`update` merges what others changed into the plan, and `resolve` settles the rest. A strategy that can't merge needs a new plan.",
  NOT_IN_CONFLICT: "`update` names the paths that are.",
  DIGEST_DIFFERS: "Look at `diff` again, and use its digest.",
  SELF_RUNNING:
    "Look at these files. Then allow them by `allow` or sandbox.allow_self_running, or leave them out by `only`.",
  CHECK_FAILED:
    "Nothing was changed. Look at the output of the check in `details`, mend the work, and apply again.",
  RESTARTED: "Look at `diff`; if all is there, apply with `afterRestart`.",
  COMMAND_NOT_STARTED: "Nothing was run; `doctor` says more. The sandbox can be worked on at `path`.",
  NOT_CONFINED:
    "Nothing was run; `doctor` says what this machine lacks. `unconfined` runs a command without walls, unless it is strict.",
  LIMIT_TOO_LOW: "Nothing was run. Give it more by `limits`, or in the config.",
  HOLDS_STATE: "Open another `stateDir` for it, or work on it by `sql` or at `path`.",
  FUSE_OVERLAY: "`doctor` says what works here.",
  STRATEGY: "This is a defect of that strategy; the cause shows where.",
  STRATEGY_NONSENSE: "This is a defect of that strategy.",
  STRATEGY_MODULE: "Fix that module; the cause shows where it fails.",
};

/** The hint of an error for which nothing better is known. */
export const NO_HINT = "The cause of this error, if it has one, says more.";

/** The hint of an error that has none of its own. */
export function hintOfCode(code: ErrorCode): string {
  return HINTS[code] ?? NO_HINT;
}

/** The name of an errno, the code of a failed system call: `ENOSPC`, `EACCES`. */
export type Errno = `E${string}`;

export type ErrorCode = (typeof ERROR_CODES)[number] | Errno;

/** Whether a text from outside is one of our codes. */
export function isErrorCode(text: unknown): text is ErrorCode {
  return typeof text === "string" && (/^E[A-Z0-9]+$/.test(text) || ERROR_CODES.some((code) => code === text));
}
