import { withDefaults } from "../core/capabilities.ts";
import { InterruptedError, messageOf } from "../core/errors/errors.ts";
import type { SandboxStrategy } from "../core/strategy.ts";
import { Bench } from "./bench.ts";
import type { ConformanceCase, ConformanceGroup, ConformanceNeed } from "./conformance-case.ts";
import { conformanceCases } from "./conformance-cases.ts";
import { ConformanceFailure } from "./expectation.ts";
import type { StrategyFactory } from "./strategy-factory.ts";
import { SuiteFolder } from "./tree/suite-folder.ts";

const LIMIT_MS = 120_000;

/** The result of one case. */
export interface CaseResult {
  readonly name: string;
  readonly group: ConformanceGroup;
  readonly outcome: "passed" | "failed" | "excluded";
  /** Why it failed; for an excluded case, what the strategy lacks for it. */
  readonly reason?: string;
  /** The error that a failed case threw. */
  readonly error?: unknown;
}

export interface ConformanceReport {
  readonly strategy: string;
  readonly passed: readonly CaseResult[];
  readonly failed: readonly CaseResult[];
  /** The cases that the strategy's capabilities exclude. */
  readonly excluded: readonly CaseResult[];
}

export interface ConformanceOptions {
  /** Called after each case. */
  readonly onResult?: (result: CaseResult, done: number, total: number) => void;
  /** Aborting it ends the run after the case that is under way. */
  readonly signal?: AbortSignal;
  /** A case that takes longer fails, because a strategy may never answer. Default: two minutes. */
  readonly limitMs?: number;
  /** Default: all of them. */
  readonly cases?: readonly ConformanceCase[];
  /**
   * The folder in which the suite makes its own folders: the state directory that the strategy gets, and the
   * plain folders that the suite compares the strategy's work with. Put it on the file system of the
   * resources. Default: the system's temporary folder.
   */
  readonly scratchDir?: string;
}

/**
 * Runs the conformance suite over a strategy, one case after the other, each with a resource of its own.
 *
 * @example
 * ```ts
 * import assert from "node:assert/strict";
 * import { runConformance, type StrategyFactory } from "drydock-sandbox/testing";
 *
 * export async function assertConforms(factory: StrategyFactory): Promise<void> {
 *   const report = await runConformance(factory, {
 *     onResult: ({ outcome, name }) => console.log(outcome, name),
 *   });
 *   assert.deepEqual(report.failed, []);
 * }
 * ```
 */
export async function runConformance(
  factory: StrategyFactory,
  options: ConformanceOptions = {},
): Promise<ConformanceReport> {
  const results: CaseResult[] = [];
  const cases = options.cases ?? conformanceCases;
  let strategy = "";
  for (const candidate of cases) {
    if (options.signal?.aborted === true) throw new InterruptedError();
    const ran = await runCase(factory, candidate, options);
    strategy = ran.strategy;
    results.push(ran.result);
    options.onResult?.(ran.result, results.length, cases.length);
  }
  const having = (outcome: CaseResult["outcome"]) => results.filter((result) => result.outcome === outcome);
  return { strategy, passed: having("passed"), failed: having("failed"), excluded: having("excluded") };
}

/** Why this case does not apply to the strategy; undefined if it does. */
function exclusionOf(
  { strategy, isFolder, victim, gate }: Bench,
  needs: readonly ConformanceNeed[],
): string | undefined {
  const { commit, undo, partial, checkpoint, isolation, loses } = withDefaults(strategy.capabilities);
  const lacks: { readonly [need in ConformanceNeed]?: string | undefined } = {
    ...Object.fromEntries(loses.map((loss) => [loss, `it declares that it loses ${loss}`])),
    isolation: isolation === "none" ? "it declares that it isolates nothing" : undefined,
    "two-phase": commit === "two-phase" ? undefined : `it declares that it commits ${commit}`,
    undo: undo ? undefined : "it declares that a commit can't be taken back",
    partial: partial ? undefined : "it declares that it lands all or nothing",
    checkpoint: checkpoint ? undefined : "it declares that it has no checkpoints",
    path: whyNoPath(strategy, isFolder),
    entries: strategy.stat === undefined ? "it has no methods for single entries" : undefined,
    process:
      victim === undefined
        ? "the suite does not know where its module is, so no other process can load it"
        : undefined,
    gate: gate === undefined ? "its resource has no gate, so the suite can't delay its requests" : undefined,
  };
  return needs.map((need) => lacks[need]).find((reason) => reason !== undefined);
}

function whyNoPath({ path }: SandboxStrategy, isFolder: boolean): string | undefined {
  if (!isFolder) return "its resource is not a folder";
  return typeof path === "function" ? undefined : "it has no path(), so no program can work in its sandboxes";
}

async function runCase(
  factory: StrategyFactory,
  { name, group, needs, run }: ConformanceCase,
  { scratchDir, limitMs = LIMIT_MS }: ConformanceOptions,
): Promise<{ readonly strategy: string; readonly result: CaseResult }> {
  using folder = new SuiteFolder(scratchDir);
  const made = await factory.makeResource();
  try {
    const bench = new Bench(factory, made, folder.path);
    const strategy = bench.strategy.name;
    const reason = exclusionOf(bench, needs);
    if (reason !== undefined) return { strategy, result: { name, group, outcome: "excluded", reason } };
    return { strategy, result: { name, group, ...(await outcomeOf(run, bench, limitMs)) } };
  } finally {
    await made.dispose();
  }
}

async function outcomeOf(
  run: ConformanceCase["run"],
  bench: Bench,
  limitMs: number,
): Promise<Pick<CaseResult, "outcome" | "reason" | "error">> {
  await bench.fill();
  const failure =
    (await failureOf(() => within(limitMs, run(bench)))) ??
    (await failureOf(() => within(limitMs, bench.tidyUp())));
  if (failure === undefined) return { outcome: "passed" };
  await failureOf(() => within(limitMs, bench.tidyUp()));
  return { outcome: "failed", reason: messageOf(failure.error), error: failure.error };
}

async function within(limitMs: number, work: Promise<void>): Promise<void> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new ConformanceFailure(`it did not end within ${limitMs / 1000} s`)),
    limitMs,
  );
  try {
    await Promise.race([work, promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function failureOf(action: () => Promise<void>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await action();
    return undefined;
  } catch (error) {
    return { error };
  }
}
