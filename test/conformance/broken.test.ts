import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StrategyContext } from "../../src/core/strategy.ts";
import { FilesystemCopyStrategy } from "../../src/strategies/filesystem-copy/filesystem-copy.ts";
import {
  CONFORMANCE_GROUPS,
  ConformanceFailure,
  conformanceCases,
  runConformance,
  type StrategyFactory,
} from "../../src/testing/index.ts";
import { COMPILED } from "../support/compile-cache.ts";
import { BROKEN_DRAWERS } from "./broken-drawers.ts";
import { BROKEN_STRATEGIES } from "./broken-strategies.ts";
import { folderFactory } from "./describe-conformance.ts";
import { makeDrawer } from "./drawer-resource.ts";

async function assertCaught(factory: StrategyFactory, caughtBy: string, reason: RegExp): Promise<void> {
  const cases = conformanceCases.filter(({ name }) => name === caughtBy);
  assert.equal(cases.length, 1, `there is no case called ${caughtBy}`);
  const { failed } = await runConformance(factory, { cases });
  assert.match(failed[0]?.reason ?? "it passed", reason);
}

describe("[S9] the conformance suite catches a strategy that", () => {
  for (const [whatItDoes, Strategy, caughtBy, reason] of BROKEN_STRATEGIES)
    it(whatItDoes, async () => {
      const factory = folderFactory((context) => new Strategy(context));
      await assertCaught(factory, caughtBy, reason);
    });
});

describe("[S9] the conformance suite catches a strategy for what is no folder that", () => {
  for (const [whatItDoes, Strategy, caughtBy, reason] of BROKEN_DRAWERS)
    it(whatItDoes, async () => {
      const url = new URL("./broken-drawers.ts", import.meta.url).href;
      const module = { url, className: Strategy.name, environment: COMPILED };
      const factory = {
        create: (context: StrategyContext) => new Strategy(context),
        makeResource: makeDrawer,
        module,
      };
      await assertCaught(factory, caughtBy, reason);
    });
});

describe("[S9] the conformance suite", () => {
  it("has cases of different names in every group", () => {
    assert.equal(new Set(conformanceCases.map(({ name }) => name)).size, conformanceCases.length);
    assert.deepEqual([...new Set(conformanceCases.map(({ group }) => group))], [...CONFORMANCE_GROUPS]);
  });

  it("tells each result as it comes, and counts it once", async () => {
    const told: string[] = [];
    const factory = folderFactory((context) => new FilesystemCopyStrategy(context));
    const cases = conformanceCases.slice(0, 2);
    const failing = {
      ...cases[0]!,
      name: "fails",
      run: () => Promise.reject(new ConformanceFailure("on purpose")),
    };
    const report = await runConformance(factory, {
      cases: [...cases, failing],
      onResult: ({ outcome, name }) => told.push(`${outcome} ${name}`),
    });
    assert.deepEqual(told, [...cases.map(({ name }) => `passed ${name}`), "failed fails"]);
    assert.equal(report.strategy, "filesystem_copy");
    assert.deepEqual([report.passed.length, report.failed.length, report.excluded.length], [2, 1, 0]);
    assert.equal(report.failed[0]?.reason, "on purpose");
  });
});
