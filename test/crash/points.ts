import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { IS_LONG } from "../support/long-form.ts";
import { runScenario, type Scenario } from "./scenarios.ts";
import { World, type WorldOptions } from "./world.ts";

/**
 * What removes stored objects is passed for each folder they are in, and how many that are depends on their
 * names, which are never the same.
 */
const VARYING = ["git.cleanup", "git.remove-old"];

/**
 * All but what every operation passes when it opens the state and takes its lock, and at its end: that is
 * tried with those that are done most, and not again with each of the others.
 */
export const BEYOND_ENTRY = /^(?!owner\.|store\.(?:open|folder|file|migrate|claim|release|close)$)/;

/** One pass of one failpoint. */
export interface Point {
  readonly name: string;
  readonly pass: number;
}

/**
 * Runs the scenario, undisturbed or failing at the given points, and returns how often each failpoint is
 * passed, in the order in which they first are.
 */
export async function tracePoints(
  scenario: Scenario,
  options: WorldOptions,
  failpoints?: string,
): Promise<ReadonlyMap<string, number>> {
  const world = new World(options);
  const file = join(world.stateDir, "..", "trace");
  try {
    await scenario.arrange(world);
    const { done, failed, stderr } = await runScenario(scenario, world, {
      trace: file,
      ...(failpoints !== undefined && { failpoints }),
    });
    if ((done === undefined) !== (failpoints !== undefined))
      throw new Error(`${scenario.name} does not end as expected: ${failed?.stack ?? stderr}`);
    const passes = new Map<string, number>();
    for (const line of readFileSync(file, "utf8").split("\n").filter(Boolean)) {
      const name = line.slice("failpoint ".length);
      passes.set(name, (passes.get(name) ?? 0) + 1);
    }
    for (const name of VARYING)
      if (passes.has(name)) passes.set(name, Math.ceil((passes.get(name) ?? 0) / 2));
    return passes;
  } finally {
    rmSync(file, { force: true });
    world.remove();
  }
}

/**
 * What is left to try at these points: all names that no scenario of this process was disturbed at yet; one
 * in the middle if there is none. So the scenario that matters most comes first in its file. All of them in
 * a long run.
 */
export function untried(points: readonly Point[], tried: Set<string>): Point[] {
  if (IS_LONG) return [...points];
  const left = points.filter(({ name }) => !tried.has(name));
  for (const { name } of left) tried.add(name);
  return left.length > 0 ? left : spread(points, 1);
}

/** So many of them, evenly spread; all in a long run. */
export function spread(points: readonly Point[], wanted: number): Point[] {
  if (IS_LONG || points.length <= wanted) return [...points];
  return Array.from(
    { length: wanted },
    (_, at) => points[Math.floor(((at + 0.5) * points.length) / wanted)] as Point,
  );
}

/** The points whose names match, and so many of the others, evenly spread; all in a long run. */
export function spreadBesides(points: readonly Point[], own: RegExp | undefined, wanted: number): Point[] {
  const isOwn = ({ name }: Point) => own?.test(name) === true;
  return [
    ...points.filter(isOwn),
    ...spread(
      points.filter((point) => !isOwn(point)),
      wanted,
    ),
  ];
}

/** The first and the last pass of each point; all of them in a long run. */
export function firstAndLast(passes: ReadonlyMap<string, number>): Point[] {
  return passesOf(passes, (count) => [...new Set([1, count])]);
}

/** The last pass of each point, when most is at stake; all of them in a long run. */
export function eachOnce(passes: ReadonlyMap<string, number>): Point[] {
  return passesOf(passes, (count) => [count]);
}

/** Where all originals go from the one side to the other. */
const DECISION = /^(?:landings|land)\./;

/** The first and the last pass of each point of a landing, and the last of the others. */
export function aroundDecision(passes: ReadonlyMap<string, number>): Point[] {
  const isTurning = ([name]: readonly [string, number]) => DECISION.test(name);
  const [turning, others] = [[...passes].filter(isTurning), [...passes].filter((entry) => !isTurning(entry))];
  return [...eachOnce(new Map(others)), ...firstAndLast(new Map(turning))];
}

function passesOf(
  passes: ReadonlyMap<string, number>,
  choose: (count: number) => readonly number[],
): Point[] {
  return [...passes].flatMap(([name, count]) => {
    const chosen = IS_LONG ? Array.from({ length: count }, (_, index) => index + 1) : choose(count);
    return chosen.map((pass) => ({ name, pass }));
  });
}
