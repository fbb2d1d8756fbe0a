import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { getCallSites } from "node:util";
import { IS_LONG } from "../support/long-form.ts";
import { type Case, runCases } from "./case-run.ts";
import { eachOnce, firstAndLast, type Point, spreadBesides, tracePoints, untried } from "./points.ts";
import { runScenario, type Scenario } from "./scenarios.ts";
import type { WorldOptions } from "./world.ts";

/** SIGKILL at each of these points. */
export function killCases(scenario: Scenario, points: readonly Point[]): Case[] {
  return points.map(({ name, pass }) => ({
    name: `${scenario.name}, killed at ${name}:${pass}`,
    disturb: async ({ world }) => {
      const end = await runScenario(scenario, world, { failpoints: `${name}:${pass}=kill` });
      assert.equal(
        end.signal,
        "SIGKILL",
        `it was not killed: ${end.failed?.stack ?? JSON.stringify(end.done)}`,
      );
    },
  }));
}

export interface Disturbance {
  /** What happens at a point. Default: SIGKILL. */
  readonly by?: (scenario: Scenario, points: readonly Point[]) => Case[];
  /** Only at points whose name matches: what is tried elsewhere is not tried again, but for a long run. */
  readonly at?: RegExp;
  /** Only at so many of them, evenly spread, but for a long run; those of `own` are not counted. */
  readonly some?: number;
  /** Points at which no other file of tests kills: all of them are tried, also where `some` is given. */
  readonly own?: RegExp;
  /** Which passes. Default: the last of each. */
  readonly choose?: (passes: ReadonlyMap<string, number>) => Point[];
}

/** The names of points at which a scenario of a file was disturbed in this process, by how it was. */
const tried = new Map<string, Map<unknown, Set<string>>>();

/** What was tried in this way by the tests of the file that calls: a process may run several files. */
export function triedBy(how: unknown): Set<string> {
  const file = getCallSites().find(({ scriptName }) => scriptName.endsWith(".test.ts"))?.scriptName ?? "";
  const ways = tried.get(file) ?? new Map();
  tried.set(file, ways);
  const names = ways.get(how) ?? new Set();
  ways.set(how, names);
  return names;
}

/** Disturbs the scenario at its points; says how many there were. */
export async function disturb(
  t: TestContext,
  scenario: Scenario,
  options: WorldOptions,
  { by = killCases, at = /./, some, own, choose = eachOnce }: Disturbance = {},
): Promise<void> {
  const known = triedBy(by);
  const passes = await tracePoints(scenario, options);
  const matching = choose(passes).filter(({ name }) => IS_LONG || at.test(name));
  const points = some === undefined ? matching : spreadBesides(matching, own, some);
  const cases = by(scenario, untried(points, known));
  // What is left out here has other tests, so no later scenario of this file has to make up for it.
  if (some !== undefined) for (const { name } of matching) known.add(name);
  assert.ok(cases.length > 0, `${scenario.name} passes no point that matches ${at}`);
  await runCases(scenario, options, cases);
  t.diagnostic(
    `${scenario.name} with ${String(options.strategy)}: ${passes.size} points, ${cases.length} tried`,
  );
}

/** Lets it run to its end, then kills it at each pass of this point. */
export async function killAt(scenario: Scenario, options: WorldOptions, point: string): Promise<void> {
  const passes = (await tracePoints(scenario, options)).get(point) ?? 0;
  assert.ok(passes > 0, `${scenario.name} does not pass ${point}`);
  const undisturbed: Case = {
    name: `${scenario.name}, not killed`,
    disturb: async ({ world }) => {
      const { done, failed, stderr } = await runScenario(scenario, world, {});
      assert.notEqual(done, undefined, failed?.stack ?? stderr);
    },
  };
  const points = firstAndLast(new Map([[point, passes]]));
  await runCases(scenario, options, [undisturbed, ...killCases(scenario, points)]);
}
