import { dirname, join } from "node:path";
import { isThere } from "../../system/data/existence.ts";
import { readTextFile } from "../../system/data/text-files.ts";
import type { Bench } from "../bench.ts";
import { expect } from "../expectation.ts";
import { type Trial, trialPlanId, victimOf } from "./cut-off.ts";
import type { RequestGate } from "./request-gate.ts";
import type { VictimEnd } from "./victim.ts";

/** A step of a strategy, by the failpoint before it. */
interface Step {
  readonly name: string;
  readonly pass: number;
  readonly at: number;
}

/**
 * A trial whose process is killed while a request is under way. The request arrives while another process
 * goes on, or after that.
 */
export interface LateTrial extends Trial {
  /** Fails unless the state still holds after the late request has arrived. */
  stays(when: string): Promise<void>;
}

/**
 * When the request of a killed process arrives: before this request of the process that goes on, or after
 * all.
 */
interface Arrival {
  readonly step: Step;
  readonly before?: number;
}

const MOST_PID_BYTES = 32;

/**
 * Runs a call undisturbed, then kills its process once for each request that follows a failpoint, while that
 * request is under way. The request arrives after another process has gone on. In further trials it arrives
 * after that process has looked and before it acts: before each of its own requests that follow a failpoint.
 */
export async function arriveLate(bench: Bench, trial: LateTrial): Promise<void> {
  const gate = gateOf(bench);
  let tries = 0;
  const attempt = async (arrival?: Arrival) => await attemptOne({ bench, gate, trial }, tries++, arrival);
  const undisturbed = await attempt();
  expect(undisturbed.sentAt.length > 0, "nothing that the strategy sends passes the gate of its resource");
  for (const { step } of stepsBefore(undisturbed.sentAt, undisturbed.passed)) {
    const last = await attempt({ step });
    for (const { request } of stepsBefore(last.goneOnAt, last.stepsAt))
      await attempt({ step, before: request });
  }
}

interface Tried {
  /** The times at which the killed process sent something, and the steps that it passed. */
  readonly sentAt: readonly number[];
  readonly passed: readonly Step[];
  /** The times and steps of the process that goes on. */
  readonly goneOnAt: readonly number[];
  readonly stepsAt: readonly { readonly at: number }[];
}

interface Attempt {
  readonly bench: Bench;
  readonly gate: RequestGate;
  readonly trial: LateTrial;
}

async function attemptOne({ bench, gate, trial }: Attempt, at: number, arrival?: Arrival): Promise<Tried> {
  const sandbox = await bench.sandbox(trialPlanId(at));
  const { method, args } = await trial.arrange(sandbox, at);
  const sent = gate.passedAt.length;
  const { lines } =
    arrival === undefined
      ? await victimOf(bench).call(method, args)
      : await killed({ bench, gate }, { method, args }, arrival);
  const [goneOn, steps] = [gate.passedAt.length, bench.stepsAt.length];
  const when = whenOf(method, arrival);
  await trial.goOn(sandbox, at, when);
  const goneOnAt = gate.passedAt.slice(goneOn);
  await gate.release();
  await trial.stays(`${when}, and has arrived`);
  await sandbox.cleanup();
  return {
    sentAt: gate.passedAt.slice(sent, goneOn),
    passed: lines.filter((line) => line.kind === "passed"),
    goneOnAt,
    stepsAt: bench.stepsAt.slice(steps).map((time) => ({ at: time })),
  };
}

/**
 * Waits until the process says by a file that it has reached the step, holds its next request, and kills it.
 */
async function killed(
  { bench, gate }: Pick<Attempt, "bench" | "gate">,
  { method, args }: { readonly method: string; readonly args: readonly unknown[] },
  { step: { name, pass }, before }: Arrival,
): Promise<VictimEnd> {
  const file = join(dirname(bench.oraclePath), `at-${method}-${name}-${pass}-${before ?? "end"}`);
  const held = gate.holdWhen(() => isThere(file));
  const call = victimOf(bench).call(method, args, { kind: "request", name, pass, file });
  await Promise.race([held.then(() => kill(file)), call]);
  const end = await call;
  gate.admitOthers(before);
  return end;
}

function kill(file: string): void {
  process.kill(Number(readTextFile(file, MOST_PID_BYTES)?.text), "SIGKILL");
}

/** The last step before each request, for requests with a step since the one before. */
function stepsBefore<Passed extends { readonly at: number }>(
  sentAt: readonly number[],
  passed: readonly Passed[],
): readonly { readonly request: number; readonly step: Passed }[] {
  return sentAt.flatMap((sent, request) => {
    const step = passed.findLast(({ at }) => at < sent);
    return step !== undefined && step.at > (sentAt[request - 1] ?? 0) ? [{ request, step }] : [];
  });
}

function whenOf(method: string, arrival?: Arrival): string {
  if (arrival === undefined) return `after ${method}`;
  const arrives =
    arrival.before === undefined
      ? "later"
      : `before request ${arrival.before + 1} of the process that goes on`;
  return `${method} was killed, and its request after ${arrival.step.name} arrives ${arrives}`;
}

function gateOf({ gate }: Bench) {
  expect(gate !== undefined, "there is no gate");
  return gate;
}
