import type { DrydockError } from "../core/errors/errors.ts";
import { factOr, type ReaderWords, readerHint } from "../core/errors/reader-hints.ts";
import { displayPath } from "../core/paths/byte-path.ts";

const STATE_OF_PLAN = "plan_show says which state the plan is in.";
const TELL = "Tell the user: ";

const CODES: ReaderWords["codes"] = {
  NO_RESOURCE: "Name at least one resource.",
  UNKNOWN_PLAN: "plan_list lists the open plans, plan_create makes one.",
  UNKNOWN_CHECKPOINT: "plan_checkpoint answers with the name of what it saves.",
  PLAN_NAME_TAKEN: "Choose another name, or work on that plan.",
  NAME_TAKEN: "Two resources have this name; make a plan for each.",
  NO_SUCH_FILE: "plan_diff says what the plan changes; list the folder by plan_exec.",
  NO_STRATEGY: `${TELL}'drydock strategy list' shows what can be isolated, 'drydock doctor' what works here.`,
  NO_PATH: "Use plan_exec, or plan_read and plan_write; for a database plan_sql.",
  NO_QUERY: "Use plan_read and plan_write.",
  READ_ONLY: "This plan is only for reading; plan_create makes another.",
  NOT_ALLOWED: ({ type }) =>
    `${TELL}'drydock resource-type show ${factOr(type, "TYPE")}' shows what the type allows.`,
  LEFT_OUT: "Use it by its own name, which plan_show has.",
  IRREVERSIBLE: `${TELL}it could not be taken back; 'drydock plan create --allow-irreversible' makes such a plan.`,
  NO_CONFIG: `${TELL}start this server with a config that exists.`,
  FOREIGN_CONFIG: `${TELL}make it a file that only you can write and run 'drydock trust'.`,
  INTERRUPTED: "Call it again if it is still wanted.",
  PLAN_STATE: STATE_OF_PLAN,
  UNFINISHED_COMMIT: ({ planId }) =>
    `${TELL}'drydock recover' finishes it, or 'drydock recover ${factOr(planId, "PLAN")} --commit' or '--abort'.`,
  RESTORE_UNFINISHED: `${TELL}mend the cause; 'drydock recover' goes on with it.`,
  CONFLICT: "plan_update merges what others changed into the plan, plan_resolve settles the rest.",
  NOT_IN_CONFLICT: "plan_update names the paths that are.",
  DIGEST_DIFFERS: "It changed since it was approved: call plan_request_review again.",
  SELF_RUNNING: `${TELL}look at these files, and allow them: 'drydock approve --allow PATTERN', or sandbox.allow_self_running in the config.`,
  CHECK_FAILED: "Nothing was changed. Look at the output of the check, mend the work, and apply again.",
  RESTARTED: `Look at plan_diff. ${TELL}if all is there, 'drydock plan apply --after-restart' lands it.`,
  COMMAND_NOT_STARTED: `Nothing was run. ${TELL}'drydock doctor' says more.`,
  NOT_CONFINED: `Nothing was run. ${TELL}'drydock doctor' says what this machine lacks.`,
  LIMIT_TOO_LOW: `Nothing was run. ${TELL}give it more by sandbox.limits in the config.`,
  HOLDS_STATE: `${TELL}start this server with another --state-dir.`,
  FUSE_OVERLAY: `${TELL}'drydock doctor' says what works here.`,
  STRATEGY: `${TELL}this is a defect of that strategy.`,
  STRATEGY_MODULE: `${TELL}'drydock strategy list --debug' shows where that module fails.`,
  NOT_EMPTY: "Remove what is in it first.",
  NO_SUCH_FOLDER: "Give a folder that exists.",
};

const WORDS: ReaderWords = {
  codes: CODES,
  pending: {
    "find-out": `${TELL}mend the cause; 'drydock recover' finds out, and finishes it or takes it back.`,
    finish: `${TELL}mend the cause; 'drydock recover' finishes it.`,
    "take-back": `${TELL}mend the cause; 'drydock recover' takes the rest back.`,
    "in-doubt": `${TELL}find out whether it happened, then run 'drydock recover PLAN --commit' or '--abort'.`,
  },
  undoFirst: ({ planId, name }) => `${TELL}undo ${displayPath(name)} first: 'drydock undo ${planId}'.`,
  otherwise: "Tell the user what failed.",
};

/** The hint of an error for an agent: it names tools, and what only the user can do. */
export function agentHint(error: DrydockError): string {
  return readerHint(error, WORDS);
}
