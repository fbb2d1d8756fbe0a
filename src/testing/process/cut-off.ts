import type { Bench } from "../bench.ts";
import { expect, expectEqual } from "../expectation.ts";
import { OTHER_PLAN_ID } from "../plan-ids.ts";
import type { SandboxBench } from "../sandbox-bench.ts";
import type { VictimEnd } from "./victim.ts";
import type { Death } from "./victim-protocol.ts";

/** A file of every original that the suite fills. */
export const FILE = "readme.txt";

/** One trial: a sandbox of a plan of its own, and the call that the victim makes. */
export interface Trial {
  arrange(
    sandbox: SandboxBench,
    at: number,
  ): Promise<{ readonly method: string; readonly args: readonly unknown[] }>;
  /** Another process goes on after the crash. */
  goOn(sandbox: SandboxBench, at: number, when: string): Promise<void>;
}

/** Makes a call undisturbed, then cuts it off once at each possible moment. */
export async function cutOff(bench: Bench, trial: Trial): Promise<void> {
  const undisturbed = await attempt(bench, trial, 0);
  for (const [index, death] of victimOf(bench).momentsOf(undisturbed).entries())
    await attempt(bench, trial, index + 1, death);
}

async function attempt(
  bench: Bench,
  { arrange, goOn }: Trial,
  at: number,
  death?: Death,
): Promise<VictimEnd> {
  const sandbox = await bench.sandbox(trialPlanId(at));
  const { method, args } = await arrange(sandbox, at);
  const end = await victimOf(bench).call(method, args, death);
  await goOn(
    sandbox,
    at,
    death === undefined ? `after ${method}` : `${method} was killed ${momentOf(death)}`,
  );
  await sandbox.cleanup();
  return end;
}

/** Fails unless a new sandbox, and so the original, has this content in FILE. */
export async function expectContent(bench: Bench, expected: string, when: string): Promise<void> {
  const after = await bench.sandbox(OTHER_PLAN_ID);
  expectEqual(await after.read(FILE), expected, `${when}: the file in the original`);
  await after.cleanup();
}

export function victimOf({ victim }: Bench) {
  expect(victim !== undefined, "there is no other process");
  return victim;
}

/** Ids of plans are ULIDs. */
export function trialPlanId(at: number): string {
  return `01K00000000000000000000${String(at).padStart(3, "0")}`;
}

export function momentOf(death: Death): string {
  if (death.kind === "failpoint") return `at its failpoint ${death.name}:${death.pass}`;
  return {
    start: "when it had begun",
    end: "when it was through",
    time: "on its way",
    request: "with a request under way",
  }[death.kind];
}
