import assert from "node:assert/strict";
import { IS_LONG } from "../support/long-form.ts";
import { type Arranged, type Recovered, recoverTwice, type Scenario } from "./scenarios.ts";
import { type Sides, sidesOf, World, type WorldOptions } from "./world.ts";

/**
 * Worlds at a time. One in a normal run, where other test files use the other processors: each further one
 * has to be arranged and verified too.
 */
const AT_ONCE = IS_LONG ? 3 : 1;
const SHOWN = 8;
/** By what the world is made of. */
const knownSides = new Map<string, Sides>();

/** One try: what is done to the world between arranging and verifying it. */
export interface Case {
  readonly name: string;
  /** Lets the operation run into trouble. */
  disturb(arranged: Arranged): Promise<void>;
}

/**
 * Runs all cases of a scenario: arrange, disturb, recover twice, verify. Goes on after a failure; fails with
 * all of them at the end.
 */
export async function runCases(
  scenario: Scenario,
  options: WorldOptions,
  cases: readonly Case[],
): Promise<void> {
  const world = JSON.stringify(options);
  const sides = knownSides.get(world) ?? sidesOf(options);
  knownSides.set(world, sides);
  const failures: string[] = [];
  const waiting = [...cases];
  const isAlone = options.places?.some(({ isOriginal }) => isOriginal === true) === true;
  const workers = Array.from({ length: isAlone ? 1 : AT_ONCE }, async () => {
    while (waiting.length > 0) {
      const names: string[] = [];
      try {
        for await (const name of runInOneWorld(scenario, options, sides, waiting)) names.push(name);
      } catch (thrown) {
        const why = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
        failures.push(`${names.join(", then ")}: ${why}`);
      }
    }
  });
  await Promise.all(workers);
  assert.equal(
    failures.length,
    0,
    `${failures.length} of ${cases.length} cases fail:\n${failures.slice(0, SHOWN).join("\n\n")}`,
  );
}

/**
 * Tries one case, and the next ones in the same world as long as recovery brings that back to where it began;
 * then verifies it. In a long run each case has a world of its own. Yields each case that it begins.
 */
async function* runInOneWorld(
  scenario: Scenario,
  options: WorldOptions,
  sides: Sides,
  waiting: Case[],
): AsyncGenerator<string> {
  const world = new World(options);
  try {
    const arranged: Arranged = { world, sides, digest: await scenario.arrange(world) };
    let recovered: Recovered | undefined;
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      yield next.name;
      await next.disturb(arranged);
      recovered = { ...arranged, recovery: await recoverTwice(world, scenario) };
      if (IS_LONG || (await scenario.isAsArranged?.(recovered)) !== true) break;
    }
    if (recovered !== undefined) await scenario.verify(recovered);
  } finally {
    world.remove();
  }
}
