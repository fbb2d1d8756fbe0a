import assert from "node:assert/strict";
import type { Case } from "./case-run.ts";
import type { Point } from "./points.ts";
import { runDriver } from "./run-driver.ts";
import { requestOf, type Scenario } from "./scenarios.ts";

/** SIGKILL at each of these points. */
export function killCases(scenario: Scenario, points: readonly Point[]): Case[] {
  return points.map(({ name, pass }) => ({
    name: `${scenario.name}, killed at ${name}:${pass}`,
    disturb: async ({ world }) => {
      const end = await runDriver(requestOf(scenario, world), { failpoints: `${name}:${pass}=kill` });
      assert.equal(end.signal, "SIGKILL", `it was not killed: ${end.failed?.stack ?? JSON.stringify(end.done)}`);
    },
  }));
}
