import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { OverlayWay } from "../../src/strategies/overlay/layout.ts";
import { fastFolder } from "../support/fast-folder.ts";
import { mountMemory } from "../support/file-systems.ts";
import { type Case, runCases } from "./case-run.ts";
import { restorePlan, savePlan } from "./checkpoint-scenarios.ts";
import { killCases, triedBy } from "./disturb.ts";
import { errorCases } from "./error-cases.ts";
import { applyPartOfMove, partScenarios } from "./part-scenarios.ts";
import { eachOnce, firstAndLast, type Point, spread, tracePoints, untried } from "./points.ts";
import { checkpoint, commitAlone, restore, rollBackAlone } from "./sandbox-scenarios.ts";
import {
  apply,
  assertNothingLeft,
  cancel,
  create,
  overwrite,
  overwriteLinked,
  overwriting,
  recoveryAfter,
  rollback,
  runScenario,
  type Scenario,
  undo,
  write,
} from "./scenarios.ts";
import { PLAN, type World, type WorldOptions } from "./world.ts";

/** At how many points of a scenario an error is tried in a normal run, evenly spread. */
const ERRORS = 3;

/** What to try with `overlay`, in a process that can mount it. */
export interface OverlayTrial {
  readonly scenario: string;
  /** Disturb it by these; else it is only traced. */
  readonly how?: "kill" | "error";
  /** A crash here comes first; then recovery is what is disturbed. */
  readonly crash?: string;
  /** A process that wanted the same died here before. */
  readonly after?: string;
  /** The first original is a whole mount, so that the sandbox's workspace is inside it. */
  readonly isInside?: boolean;
  /** Only at points whose name matches. */
  readonly points?: string;
  /** Only at the last pass of each. */
  readonly isLastPass?: boolean;
  /** Its originals have these strategies, in turn. Default: overlay. */
  readonly strategies?: readonly string[];
  readonly ways?: readonly OverlayWay[];
  readonly isSmall?: boolean;
  /** Its work moves folders. */
  readonly isMoved?: boolean;
}

/** What it came to. */
export interface TrialOutcome {
  readonly points: readonly string[];
  readonly cases: number;
}

/** That, or why a case of it failed. */
export type TrialAnswer = { readonly outcome: TrialOutcome } | { readonly failure: string };

/** No program was ever inside: what a write needs is copied up without a mount. */
async function withoutMount(world: World): Promise<string> {
  await world.with(({ plans }) =>
    plans.create({ name: PLAN, resources: world.resources(), withoutPaths: true }),
  );
  return "";
}

/** Whatever was written lands, and can be taken back. */
const verifyLanding: Scenario["verify"] = async ({ world, sides }) => {
  assert.equal(world.side(sides, "after a crash in write"), "old");
  await world.with(async ({ plans }) => {
    const { attention, state } = await plans.apply(PLAN);
    assert.deepEqual(attention, []);
    const text = readFileSync(join(world.originals[1]?.location ?? "", "same"), "utf8");
    assert.match(text, /^(?:same|written)\n$/);
    await (state === "applied" ? plans.undo(PLAN) : plans.cancel(PLAN));
  });
  assert.equal(world.side(sides, "after the undo"), "old");
  await assertNothingLeft(world);
};

const writeUnmounted: Scenario = {
  ...write,
  name: "write without a mount",
  arrange: withoutMount,
  verify: verifyLanding,
};
const overwriteUnmounted: Scenario = {
  ...overwrite,
  name: "write over same without a mount",
  arrange: withoutMount,
  verify: verifyLanding,
};

/** Programs that have it open are to see it, so it is written in its place. */
const overwriteMounted = overwriting("r1", "same", ["same\n", "", "written\n"]);

/** Programs were inside, and have ended. What they deleted comes again, as something else. */
const writeOverDeleted: Scenario = {
  ...write,
  name: "write over what was deleted",
  more: { resource: "r1", path: "folder/gone/file" },
  arrange: afterPrograms,
};
const writeOverDeletedFile: Scenario = {
  ...overwrite,
  name: "write over a file that was deleted",
  more: { resource: "r1", path: "gone" },
  arrange: afterPrograms,
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in write"), "old");
    await world.with(async ({ plans }) => {
      const { changes } = await plans.diff(PLAN, { paths: ["gone"] });
      assert.ok(
        changes.some(({ resource }) => resource === "r1"),
        "neither deleted nor changed",
      );
      await plans.cancel(PLAN);
    });
    await assertNothingLeft(world);
  },
};

async function afterPrograms(world: World): Promise<string> {
  return await world.with(async (drydock) => {
    const { id } = await drydock.plans.create({
      name: PLAN,
      resources: world.resources(),
      withoutPaths: true,
    });
    for (const [index, { change }] of world.originals.entries()) {
      const { ref } = await drydock.sandboxes.getOrCreate(id, `r${index}`);
      const { strategy } = await drydock.registry.resolve(ref.strategyName);
      const view = await strategy.enter?.(ref);
      change(view?.kind === "place" ? view.path : assert.fail("it is not mounted"));
      await strategy.leave?.(ref);
    }
    return (await drydock.plans.diff(PLAN)).digest;
  });
}

/** In most of them the sandboxes are mounted from the work before. */
const MOUNTED = [
  create,
  write,
  overwriteMounted,
  overwriteLinked,
  apply,
  undo,
  rollback,
  cancel,
  checkpoint,
  restore,
  commitAlone,
  rollBackAlone,
  savePlan,
  restorePlan,
];
const SCENARIOS = [...MOUNTED, writeUnmounted, overwriteUnmounted, writeOverDeleted, writeOverDeletedFile];

// Trials come in by lines, and what each came to goes out by lines, until there are no more.
for await (const line of createInterface({ input: process.stdin })) {
  const answer = await tryOverlay(JSON.parse(line) as OverlayTrial).then(
    (outcome) => ({ outcome }),
    (thrown: unknown) => ({
      failure: thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown),
    }),
  );
  console.log(JSON.stringify(answer satisfies TrialAnswer));
}

async function tryOverlay(trial: OverlayTrial): Promise<TrialOutcome> {
  const { how } = trial;
  using place = trial.isInside === true ? mountMemory() : undefined;
  const [scenario, options] = [scenarioFor(trial), worldFor(trial, place?.path)];
  const passes = await tracePoints(scenario, options);
  const cases = how === undefined ? [] : casesFor(scenario, how, chosenPoints(trial, passes));
  await runCases(scenario, options, cases);
  return { points: [...passes.keys()], cases: cases.length };
}

function scenarioFor(trial: OverlayTrial): Scenario {
  const { scenario: wanted, crash, after } = trial;
  const parts = Object.values(partScenarios(worldFor(trial, undefined)));
  const plain = [...SCENARIOS, ...parts, applyPartOfMove].find(({ name }) => name === wanted);
  if (plain === undefined) throw new Error(`there is no scenario called ${wanted}`);
  if (crash !== undefined) return recoveryAfter(plain, crash);
  if (after === undefined) return plain;
  return {
    ...plain,
    arrange: async (world) => {
      await runScenario(plain, world, { failpoints: after });
      return await plain.arrange(world);
    },
  };
}

function worldFor(
  { strategies, ways, isSmall, isMoved }: OverlayTrial,
  inside: string | undefined,
): WorldOptions {
  return {
    strategy: strategies ?? (ways === undefined ? "overlay" : "overlay_in_one_way"),
    ...(ways !== undefined && { ways }),
    ...(isSmall !== undefined && { isSmall }),
    ...(isMoved !== undefined && { isMoved }),
    ...(inside !== undefined && { places: [{ folder: inside, isOriginal: true }, { folder: fastFolder() }] }),
  };
}

function chosenPoints(
  { how, points, isLastPass }: OverlayTrial,
  passes: ReadonlyMap<string, number>,
): Point[] {
  const isWanted = new RegExp(points ?? "");
  const choose = isLastPass === true ? eachOnce : firstAndLast;
  const wanted = choose(passes).filter(({ name }) => isWanted.test(name));
  return untried(how === "error" ? spread(wanted, ERRORS) : wanted, triedBy(how));
}

function casesFor(scenario: Scenario, how: "kill" | "error", points: readonly Point[]): Case[] {
  return how === "kill" ? killCases(scenario, points) : errorCases(scenario, points);
}
