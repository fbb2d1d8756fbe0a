import assert from "node:assert/strict";
import { type Arranged, recoverTwice, type Scenario } from "./scenarios.ts";
import { sidesOf, World, type WorldOptions } from "./world.ts";

const AT_ONCE = 3;
const SHOWN = 8;

/** One try: what is done to the world between arranging and verifying it. */
export interface Case {
  readonly name: string;
  /** Lets the operation run into trouble. */
  disturb(arranged: Arranged): Promise<void>;
}

/**
 * Runs all cases of a scenario, each in a world of its own: arrange, disturb, recover twice, verify. Goes on
 * after a failure; fails with all of them at the end.
 */
export async function runCases(
  scenario: Scenario,
  options: WorldOptions,
  cases: readonly Case[],
): Promise<void> {
  const sides = sidesOf(options);
  const failures: string[] = [];
  const waiting = [...cases];
  const isAlone = options.places?.some(({ isOriginal }) => isOriginal === true) === true;
  const workers = Array.from({ length: isAlone ? 1 : AT_ONCE }, async () => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      try {
        await runCase(scenario, options, sides, next);
      } catch (thrown) {
        failures.push(
          `${next.name}: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`,
        );
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

async function runCase(
  scenario: Scenario,
  options: WorldOptions,
  sides: Arranged["sides"],
  { disturb }: Case,
): Promise<void> {
  const world = new World(options);
  try {
    const arranged: Arranged = { world, sides, digest: await scenario.arrange(world) };
    await disturb(arranged);
    await scenario.verify({ ...arranged, recovery: await recoverTwice(world, scenario) });
  } finally {
    world.remove();
  }
}
