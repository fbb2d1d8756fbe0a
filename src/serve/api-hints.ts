import type { DrydockError, ErrorDetails } from "../core/errors/errors.ts";
import { factOr, type ReaderWords, readerHint } from "../core/errors/reader-hints.ts";
import { displayPath } from "../core/paths/byte-path.ts";

/** An operation on the plan that the error is about. */
function onPlan(method: string, rest: string, planId?: unknown): string {
  return `${method} /v1/plans/${encodeURIComponent(factOr(planId, "")) || "{plan}"}${rest}`;
}

const DIFF = onPlan("GET", "/diff");
const FILES = `${onPlan("GET", "/file")} and ${onPlan("PUT", "/file")}`;
const DOCTOR = "GET /v1/doctor";

const CODES: ReaderWords["codes"] = {
  UNKNOWN_PLAN: "GET /v1/plans?all=true lists every plan, POST /v1/plans makes one.",
  UNKNOWN_CHECKPOINT: ({ planId }) =>
    `${onPlan("GET", "/checkpoints", planId)} lists those that the plan has.`,
  NO_SUCH_FILE: `${onPlan("GET", "/entries")} says what is in a folder, ${DIFF} what the plan changes.`,
  NO_STRATEGY:
    "GET /v1/strategies says what each strategy can isolate, GET /v1/resource-types which types are known.",
  NO_PATH: `Use ${onPlan("POST", "/exec")}, or ${FILES}; for a database ${onPlan("POST", "/sql")}.`,
  NO_QUERY: `Use ${FILES}.`,
  NOT_ALLOWED: ({ type }) =>
    `GET /v1/resource-types/${encodeURIComponent(factOr(type, "")) || "{type}"} says what the type allows; its capabilities: in the config decides.`,
  LEFT_OUT: `Use it by its own name, which ${onPlan("GET", "")} has.`,
  NO_CONFIG: "Start the server with a config that exists: --config, or DRYDOCK_CONFIG.",
  FOREIGN_CONFIG:
    "Make it a file that only the user of the server can write, or start the server with --config.",
  PLAN_STATE: planState,
  UNFINISHED_COMMIT: ({ planId }) =>
    `POST /v1/recover finishes it. If that plan is in doubt, settle it: ${onPlan("POST", "/settle", planId)}.`,
  RESTORE_UNFINISHED: "Mend the cause; POST /v1/recover goes on with it.",
  CONFLICT: `${onPlan("POST", "/update")} merges what others changed into the plan, and ${onPlan("POST", "/resolve")} settles the rest. A strategy that can't merge needs a new plan.`,
  NOT_IN_CONFLICT: `${onPlan("POST", "/update")} names the paths that are.`,
  DIGEST_DIFFERS: `Look at ${DIFF} again, and use its digest.`,
  RESTARTED: `Look at ${DIFF}; if all is there, apply with \`afterRestart\`.`,
  COMMAND_NOT_STARTED: `Nothing was run; ${DOCTOR} says more.`,
  NOT_CONFINED: `Nothing was run; ${DOCTOR} says what this machine lacks. \`unconfined\` runs a command without walls, unless it is \`strict\`.`,
  HOLDS_STATE: `Start a server with another --state-dir for it, or work on it by ${onPlan("POST", "/sql")} or at the path that ${onPlan("GET", "/path")} has.`,
  FUSE_OVERLAY: `${DOCTOR} says what works here.`,
  INTERRUPTED: "The server stops. Try again when it is back.",
  STRATEGY: "This is a defect of that strategy.",
  STRATEGY_MODULE: "Fix that module; 'drydock strategy list --debug' shows where it fails.",
};

const WORDS: ReaderWords = {
  codes: CODES,
  pending: {
    "find-out": "Mend the cause; POST /v1/recover finds out, and finishes it or takes it back.",
    finish: "Mend the cause; POST /v1/recover finishes it.",
    "take-back": "Mend the cause; POST /v1/recover takes the rest back.",
    "in-doubt": `Find out whether it happened, and say so: ${onPlan("POST", "/settle")}.`,
  },
  undoFirst: ({ planId, name }) => `Undo ${displayPath(name)} first: ${onPlan("POST", "/undo", planId)}.`,
  otherwise: "The detail says what is wrong; the server's own output may say more.",
};

/** The hint of an error for a client of the API: it names operations and members of requests. */
export function apiHint(error: DrydockError): string {
  return readerHint(error, WORDS);
}

function planState({ state, to }: ErrorDetails): string {
  if (to === "undoing" && state === "open")
    return `It was not applied; ${onPlan("POST", "/rollback")} throws its changes away.`;
  if (state === "applied" && to !== "undoing")
    return `It has landed: ${onPlan("POST", "/undo")} takes it back, POST /v1/plans makes a new one.`;
  if (state === "applying" || state === "undoing" || state === "adding" || state === "updating")
    return "Wait for it. If a crash cut it off, POST /v1/recover settles it.";
  if (state === "restoring")
    return `Wait for the restore. If it can't be finished, ${onPlan("POST", "/cancel")} gives the plan up.`;
  return `${onPlan("GET", "")} says which state the plan is in, ${onPlan("GET", "/log")} how it came there.`;
}
