import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Case, runCases } from "./case-run.ts";
import { choosePoints, type Point, tracePoints } from "./points.ts";
import { runScenario, type Scenario } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

/** SIGKILL at each of these points. */
export function killCases(scenario: Scenario, points: readonly Point[]): Case[] {
  return points.map(({ name, pass }) => ({
    name: `${scenario.name}, killed at ${name}:${pass}`,
    disturb: async ({ world }) => {
      const end = await runScenario(scenario, world, { failpoints: `${name}:${pass}=kill` });
      assert.equal(end.signal, "SIGKILL", `it was not killed: ${end.failed?.stack ?? JSON.stringify(end.done)}`);
    },
  }));
}

/** Kills the scenario at its points; says how many there were. */
export async function killEverywhere(
  t: TestContext,
  scenario: Scenario,
  options: WorldOptions,
  choose = choosePoints,
): Promise<void> {
  const passes = await tracePoints(scenario, options);
  const points = choose(passes);
  await runCases(scenario, options, killCases(scenario, points));
  t.diagnostic(`${scenario.name} with ${options.strategy}: ${passes.size} points, ${points.length} kills`);
}
