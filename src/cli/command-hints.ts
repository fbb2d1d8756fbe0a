import type { DrydockError, ErrorDetails } from "../core/errors/errors.ts";
import { factOr, type ReaderWords, readerHint } from "../core/errors/reader-hints.ts";
import { displayPath } from "../core/paths/byte-path.ts";

/** How to use a config that another user could have written. */
export const OWN_CONFIG =
  "make it a file that only you can write and run 'drydock trust', or name it with --config";

const CODES: ReaderWords["codes"] = {
  NO_RESOURCE: "Name one with -r PATH.",
  UNKNOWN_PLAN: "List plans with 'drydock plan list --all', or make one with 'drydock plan create'.",
  UNKNOWN_CHECKPOINT: ({ planId }) => `See 'drydock plan checkpoints ${factOr(planId, "PLAN")}'.`,
  NAME_TAKEN: "Name one of them: -r NAME=LOCATION.",
  PLAN_NAME_TAKEN: ({ planId }) =>
    `Choose another --name, or apply or cancel that plan first: 'drydock plan show ${factOr(planId, "PLAN")}'.`,
  NO_SUCH_FILE: "Look at 'drydock plan diff', or list the folder at 'drydock plan path'.",
  NO_SUCH_FOLDER: "Give --resource a folder, or MODULE:FUNCTION.",
  NO_STRATEGY: ({ known }) =>
    `${known === false ? "'drydock resource-type list' shows the types that are known. " : ""}See 'drydock strategy list' for what each one can isolate.`,
  NO_PATH:
    "Use 'drydock plan exec', or 'drydock plan read' and 'plan write'; for a database 'drydock plan sql'.",
  NOT_EMPTY: "Remove what is in it first, or use --recursive.",
  NO_QUERY: "Use 'drydock plan read' and 'plan write'.",
  READ_ONLY: "Make a plan without --read-only.",
  NOT_ALLOWED: ({ type }) =>
    `See 'drydock resource-type show ${factOr(type, "TYPE")}', and capabilities: of that type in the config.`,
  LEFT_OUT: "Use it by its own name; see 'drydock plan show'.",
  IRREVERSIBLE: "If that is what you want, say so with --allow-irreversible.",
  NO_CONFIG: "Check the path, --config and DRYDOCK_CONFIG, or make a config with 'drydock init'.",
  FOREIGN_CONFIG: `To use it, ${OWN_CONFIG}.`,
  INTERRUPTED: "Run the command again when you are ready.",
  PLAN_STATE: planState,
  UNFINISHED_COMMIT: ({ planId }) =>
    `Run 'drydock recover', or settle it with 'drydock recover ${factOr(planId, "PLAN")} --commit' or '--abort'.`,
  RESTORE_UNFINISHED: "Mend the cause; the next drydock command goes on with it.",
  CONFLICT:
    "'drydock plan update' merges what others changed into the plan, and 'drydock plan resolve' settles the rest.",
  NOT_IN_CONFLICT: "'drydock plan update' names the paths that are.",
  DIGEST_DIFFERS: "Look at 'drydock plan diff' again and use its digest.",
  SELF_RUNNING:
    "Look at these files. Then allow them with --allow PATTERN or sandbox.allow_self_running, or leave them out with --only.",
  CHECK_FAILED:
    "Nothing was changed. Mend the work in the plan and apply again; --no-checks lands it without.",
  RESTARTED: "Look at 'drydock plan diff'; if all is there, use 'drydock plan apply --after-restart'.",
  COMMAND_NOT_STARTED:
    "Nothing was run. If it is about a scratch layer, --strict does without; 'drydock doctor' says more.",
  NOT_CONFINED: ({ remedy, strict }) => {
    const helps = typeof remedy === "string" ? `To have them, ${remedy}` : "'drydock doctor' says more";
    const without = strict === true ? "leave out --strict" : "run it without walls: --unconfined";
    return `Nothing was run. ${helps}; or ${without}.`;
  },
  LIMIT_TOO_LOW: ({ limit }) =>
    `Nothing was run. Give it more with --limit ${factOr(limit, "NAME")}=…, or in the config.`,
  HOLDS_STATE:
    "Make the plan with a state directory elsewhere (--state-dir), or work on it with 'drydock plan sql' or by 'drydock plan path'.",
  FUSE_OVERLAY: "Run 'drydock doctor' to see what works here.",
  STRATEGY: "This is a defect of that strategy; --debug shows where.",
  STRATEGY_NONSENSE: "This is a defect of that strategy; --debug shows where.",
  STRATEGY_MODULE: "Fix that module; --debug shows where it fails.",
};

const PENDING: ReaderWords["pending"] = {
  "find-out":
    "Mend the cause; the next drydock command finds out, and finishes it or takes it back ('drydock recover').",
  finish: "Mend the cause; the next drydock command finishes it ('drydock recover').",
  "take-back": "Mend the cause; the next drydock command takes the rest back ('drydock recover').",
  "in-doubt": "Find out whether it happened, then run 'drydock recover PLAN --commit' or '--abort'.",
};

const WORDS: ReaderWords = {
  codes: CODES,
  pending: PENDING,
  undoFirst: ({ planId, name }) => `Undo ${displayPath(name)} first: 'drydock undo ${planId}'.`,
  otherwise: "Run the command with --debug to see more.",
};

/** The hint of an error for the user of the command line. */
export function commandHint(error: DrydockError): string {
  return readerHint(error, WORDS);
}

function planState({ state, to }: ErrorDetails): string {
  if (to === "undoing" && state === "undone") return "It was taken back already; see 'drydock plan log'.";
  if (to === "undoing" && state === "open")
    return "It was not applied; 'drydock plan rollback' throws its changes away.";
  if (state === "applied")
    return "It has landed: 'drydock plan undo' takes it back, 'drydock plan create' makes a new one.";
  if (state === "applying" || state === "undoing")
    return "See 'drydock recover'. What can't be settled, 'drydock recover PLAN --abandon' ends; see 'drydock plan log' then.";
  if (state === "open") return "Look at it with 'drydock plan show'.";
  if (state === "adding")
    return "Wait until the resource has joined it. If a crash cut that off, 'drydock recover' takes it back.";
  if (state === "restoring")
    return "Wait for the restore. If it can't be finished, 'drydock plan cancel' gives the plan up.";
  if (state === "updating")
    return "Wait for the update. If a crash cut it off, 'drydock recover' takes it back.";
  return "Make a new plan with 'drydock plan create'.";
}
