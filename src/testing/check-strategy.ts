import { UnsupportedError, UsageError } from "../core/errors/errors.ts";
import type { SandboxStrategy, StrategyContext } from "../core/strategy.ts";
import { type ResourceSurroundings, resourceMaker } from "./check-resources.ts";
import { type CaseResult, type ConformanceReport, runConformance } from "./run-conformance.ts";
import type { ResourceFixture, StrategyFactory, StrategyModule } from "./strategy-factory.ts";
import { suiteContext } from "./suite-context.ts";
import { SuiteFolder } from "./tree/suite-folder.ts";

/** The strategy that is checked. */
export interface CheckedStrategy {
  make(context: StrategyContext): SandboxStrategy;
  readonly module?: StrategyModule;
}

export interface CheckOptions extends ResourceSurroundings {
  /** Makes the resources, in place of the suite. */
  readonly makeResource?: () => Promise<ResourceFixture>;
  readonly signal: AbortSignal;
  readonly onResult?: (result: CaseResult, done: number, total: number) => void;
}

/**
 * Runs the conformance suite on a strategy, with resources of `makeResource` or of the suite. Refuses where
 * the strategy's probe says that it does not work.
 */
export async function checkStrategy(
  { make, module }: CheckedStrategy,
  { makeResource, onResult, signal, ...place }: CheckOptions,
): Promise<ConformanceReport> {
  using folder = new SuiteFolder(place.parent);
  const looking = make(suiteContext(folder.statePath, async () => undefined));
  const known = makeResource ?? resourceMaker(looking, place);
  await assertWorks(looking, known);
  const factory: StrategyFactory = {
    create: make,
    makeResource: async () => asMade(await known()),
    ...(module !== undefined && { module }),
  };
  return await runConformance(factory, {
    signal,
    ...(onResult !== undefined && { onResult }),
    ...(place.parent !== undefined && { scratchDir: place.parent }),
  });
}

/** Probes once: where the strategy does not work, every case would fail for the same reason. */
async function assertWorks(strategy: SandboxStrategy, make: () => Promise<ResourceFixture>): Promise<void> {
  if (strategy.probe === undefined) return;
  const made = asMade(await make());
  try {
    await made.settle?.();
    const probed = await strategy.probe(made.resource);
    if (probed.works) return;
    throw new UnsupportedError(`${strategy.name} does not work for such a resource here: ${probed.reason}`, {
      hint: "Give a folder where it works as the resource; the doctor says what that takes.",
    });
  } finally {
    await made.dispose();
  }
}

/** Checks the answer of a user's function. */
export function asMade(made: ResourceFixture): ResourceFixture {
  const { resource, dispose } = made ?? {};
  const isWhole = typeof resource === "object" && typeof dispose === "function";
  if (isWhole && ("originalPath" in made || "content" in made)) return made;
  throw new UsageError(
    "A function that makes resources has to return { resource, dispose } with originalPath or content.",
    {
      hint: "See ResourceFixture in drydock-sandbox/testing.",
      code: "BAD_RESOURCE",
    },
  );
}
