import { withDefaults } from "../core/capabilities.ts";
import { messageOf } from "../core/errors.ts";
import type { SandboxStrategy } from "../core/strategy.ts";
import { Bench } from "./bench.ts";
import type { ConformanceCase, ConformanceGroup, ConformanceNeed } from "./conformance-case.ts";
import { conformanceCases } from "./conformance-cases.ts";
import { fillSampleTree } from "./sample-tree.ts";
import type { StrategyFactory } from "./strategy-factory.ts";
import { SuiteFolder } from "./suite-folder.ts";

/** What came of one case. */
export interface CaseResult {
  readonly name: string;
  readonly group: ConformanceGroup;
  readonly outcome: "passed" | "failed" | "excluded";
  /** Why it failed, or what the strategy lacks so that the case makes no sense for it. */
  readonly reason?: string;
  /** What a failed case threw. */
  readonly error?: unknown;
}

export interface ConformanceReport {
  readonly strategy: string;
  readonly passed: readonly CaseResult[];
  readonly failed: readonly CaseResult[];
  /** What the strategy's capabilities leave out. */
  readonly excluded: readonly CaseResult[];
}

export interface ConformanceOptions {
  /** Called after each case. */
  readonly onResult?: (result: CaseResult) => void;
  /** Default: all of them. */
  readonly cases?: readonly ConformanceCase[];
  /**
   * Where the suite makes its own folders: the state directory that the strategy gets and the plain folders that it is compared
   * with. Put it on the file system of the resources. Default: the system's temporary folder.
   */
  readonly scratchDir?: string;
}

/**
 * Runs the conformance suite over a strategy, one case after the other, each with a resource of its own.
 *
 * @example
 * ```ts
 * const report = await runConformance(factory, { onResult: ({ outcome, name }) => console.log(outcome, name) });
 * assert.deepEqual(report.failed, []);
 * ```
 */
export async function runConformance(
  factory: StrategyFactory,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const results: CaseResult[] = [];
  let strategy = "";
  for (const candidate of options.cases ?? conformanceCases) {
    const ran = await runCase(factory, candidate, options.scratchDir);
    strategy = ran.strategy;
    results.push(ran.result);
    options.onResult?.(ran.result);
  }
  const having = (outcome: CaseResult["outcome"]) => results.filter((result) => result.outcome === outcome);
  return { strategy, passed: having("passed"), failed: having("failed"), excluded: having("excluded") };
}

/** Why this case makes no sense for a strategy; undefined if it does. */
function exclusionOf(strategy: SandboxStrategy, needs: readonly ConformanceNeed[]): string | undefined {
  const { commit, undo, checkpoint, isolation, loses } = withDefaults(strategy.capabilities);
  const lacks: { readonly [need in ConformanceNeed]?: string | undefined } = {
    ...Object.fromEntries(loses.map((loss) => [loss, `it declares that it loses ${loss}`])),
    isolation: isolation === "none" ? "it declares that it isolates nothing" : undefined,
    "two-phase": commit === "two-phase" ? undefined : `it declares that it commits ${commit}`,
    undo: undo ? undefined : "it declares that a commit can't be taken back",
    checkpoint: checkpoint ? undefined : "it declares that it has no checkpoints",
    path: typeof strategy.path === "function" ? undefined : "it has no path(), so no program can work in its sandboxes",
  };
  return needs.map((need) => lacks[need]).find((reason) => reason !== undefined);
}

async function runCase(
  factory: StrategyFactory,
  { name, group, needs, run }: ConformanceCase,
  scratchDir: string | undefined,
): Promise<{ readonly strategy: string; readonly result: CaseResult }> {
  using folder = new SuiteFolder(scratchDir);
  const made = await factory.makeResource();
  try {
    const bench = new Bench(factory, made, folder.path);
    const strategy = bench.strategy.name;
    const reason = exclusionOf(bench.strategy, needs);
    if (reason !== undefined) return { strategy, result: { name, group, outcome: "excluded", reason } };
    return { strategy, result: { name, group, ...(await outcomeOf(run, bench)) } };
  } finally {
    await made.dispose();
  }
}

async function outcomeOf(
  run: ConformanceCase["run"],
  bench: Bench,
): Promise<Pick<CaseResult, "outcome" | "reason" | "error">> {
  bench.fill(fillSampleTree);
  const failure = (await failureOf(() => run(bench))) ?? (await failureOf(() => bench.tidyUp()));
  if (failure === undefined) return { outcome: "passed" };
  await failureOf(() => bench.tidyUp());
  return { outcome: "failed", reason: messageOf(failure.error), error: failure.error };
}

async function failureOf(action: () => Promise<void>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    return { error };
  }
}
