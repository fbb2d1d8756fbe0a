import type { LimitName } from "../core/values/limits.ts";
import type { ApplyOptions, ApplyResult } from "../plans/landing-views.ts";
import type { CreatePlanOptions, PlanDiff } from "../plans/plan-views.ts";
import type { Plans } from "../plans/plans.ts";
import { leavesWork, type OutsideSummary } from "../sandboxes/scratch/outside-places.ts";
import type { WindowSize } from "../system/terminal/program-streams.ts";
import { assertNotAborted, type ExecRequest, type ExecResult, type RunningCommand } from "./exec.ts";
import { startAhead } from "./launch/launcher.ts";
import type { Runs } from "./runs.ts";
import { type SpawnedCommand, spawn } from "./spawn.ts";

/** What to do with the changes of a command. */
export type RunDecision = "apply" | "keep" | "discard" | { readonly apply: RunApplyOptions };

/** What may land without more words, and with `only` which part: the rest stays in the plan. */
export type RunApplyOptions = Pick<ApplyOptions, "allow" | "only">;

/** A plan for one command. */
export interface RunRequest extends ExecRequest, Pick<ApplyOptions, "message" | "squash"> {
  readonly plan: CreatePlanOptions;
  /** Changes that may land although tools run them by themselves, as in `ApplyOptions`. */
  readonly allow?: readonly string[];
  /**
   * Talks to the command by pipes until its output ends. Default: the command has the streams of this
   * process.
   */
  readonly talk?: (command: SpawnedCommand) => Promise<void>;
  /** Called when the command has ended and changed something, if only outside of the plan and no cache. */
  readonly decide: (finding: RunFinding) => Promise<RunDecision>;
  /** Called with the plan that holds the command's work, if something fails after the command has started. */
  readonly onKept?: (planId: string) => void;
}

/** How a run happens, beside what its caller asks for. */
export interface RunHow {
  /** The command is detached (exec.ts), at a terminal of this size, which `talk` keeps. */
  readonly detached?: WindowSize;
}

/** The result of a command, for the decision about its changes. */
export interface RunFinding {
  readonly planId: string;
  readonly exitCode: number;
  /** The limit that it met. */
  readonly limit?: LimitName;
  readonly denied?: ExecResult["denied"];
  readonly diff: PlanDiff;
  readonly scratch: OutsideSummary;
}

/**
 * Does a run land by itself? A command that met a limit may have missed that and ended with 0. What it wrote
 * outside of the plan would go with a landing.
 */
export function mayLand(
  { exitCode, limit, scratch }: RunFinding,
  { ignoreOutside = false }: { readonly ignoreOutside?: boolean },
): boolean {
  return exitCode === 0 && limit === undefined && (ignoreOutside || !leavesWork(scratch));
}

/** How a run ended: `drydock run --json` prints it. */
export interface RunOutcome {
  readonly planId: string;
  readonly exitCode: number;
  /** The limit that it met. */
  readonly limit?: LimitName;
  /** What it was not allowed to reach. */
  readonly denied?: ExecResult["denied"];
  readonly outcome: "applied" | "kept" | "discarded" | "unchanged";
  /** The changes of the command, if there are any. */
  readonly diff?: PlanDiff;
  readonly apply?: ApplyResult;
  /** For a discarded run: resources that it changed in place, so that their changes stay. */
  readonly stays?: readonly string[];
  /** Work of it landed while the command ran, and stays: the plan is over, and can still be undone. */
  readonly landed?: true;
  readonly scratch: OutsideSummary;
}

/**
 * Creates a plan, runs a command in it, and applies, keeps or discards the changes as `decide` says. Cancels
 * the plan if the command could not start or left nothing to land, outside of the plan neither, but for
 * caches.
 */
export async function runOnce(
  plans: Plans,
  runs: Runs,
  request: RunRequest,
  how: RunHow = {},
): Promise<RunOutcome> {
  const { plan: options, decide, onKept, talk, allow = [], message, squash, ...command } = request;
  const landing = { ...(message !== undefined && { message }), ...(squash === true && { squash }) };
  using _ = talk === undefined ? startAhead({ stdout: command.stdout ?? "inherit" }) : undefined;
  const { id: planId } = await plans.create({ ...options, withoutPaths: true });
  let isUp = false;
  const onStart = (running: RunningCommand): void => {
    isUp = true;
    command.onStart?.(running);
  };
  try {
    // A checkpoint before the only command would save a plan without work.
    const exec = { ...command, checkpoint: false, onStart };
    const ended =
      talk === undefined ? await runs.exec(planId, exec) : await talked(runs, planId, exec, { talk, ...how });
    isUp = true;
    return await carryOutDecision(plans, planId, ended, { decide, allow, landing });
  } catch (thrown) {
    // Once the command is up, the plan holds work: it stays, whatever fails afterwards.
    if (isUp) onKept?.(planId);
    else await plans.cancel(planId);
    throw thrown;
  }
}

async function talked(
  runs: Runs,
  planId: string,
  request: ExecRequest,
  { talk, detached }: Required<Pick<RunRequest, "talk">> & RunHow,
): Promise<ExecResult> {
  const streams = detached === undefined ? {} : { terminal: detached };
  const how = { detached: detached !== undefined };
  await using command = await spawn(runs, planId, { ...request, ...streams }, how);
  await talk(command);
  const result = await command.wait();
  // It may end with 0 when it is asked to end, and must not land for that.
  assertNotAborted(result);
  return result;
}

async function carryOutDecision(
  plans: Plans,
  planId: string,
  { exitCode, limit, denied, scratch }: Pick<RunFinding, "exitCode" | "limit" | "denied" | "scratch">,
  {
    decide,
    allow,
    landing,
  }: Required<Pick<RunRequest, "decide" | "allow">> & { readonly landing: ApplyOptions },
): Promise<RunOutcome> {
  const ended = {
    ...{ planId, exitCode, scratch },
    ...(limit !== undefined && { limit }),
    ...(denied !== undefined && { denied }),
  };
  const diff = await plans.diff(planId, { allow });
  if (diff.changes.length === 0 && !leavesWork(scratch)) {
    return { ...ended, outcome: "unchanged", ...(await cancelled(plans, planId)) };
  }
  const decision = await decide({ ...ended, diff });
  if (decision === "keep") return { ...ended, outcome: "kept", diff };
  if (decision === "discard") {
    const inPlace = await plans.inPlace(planId);
    const stays = inPlace.filter((name) => diff.changes.some(({ resource }) => resource === name));
    const landed = await cancelled(plans, planId);
    return { ...ended, outcome: "discarded", diff, ...(stays.length > 0 && { stays }), ...landed };
  }
  // Exactly the changes that `decide` saw land.
  const { allow: alsoAllowed = [], only } = decision === "apply" ? {} : decision.apply;
  const apply = await plans.apply(planId, {
    digest: diff.digest,
    allow: [...allow, ...alsoAllowed],
    ...landing,
    ...(only !== undefined && { only }),
  });
  return { ...ended, outcome: "applied", diff, apply };
}

/** Closes the plan; says what a run tells of it. */
async function cancelled(plans: Plans, planId: string): Promise<Pick<RunOutcome, "landed">> {
  const { state } = await plans.cancel(planId);
  return state === "applied" ? { landed: true } : {};
}
