import { chmodSync, globSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { run } from "node:test";
import { KillRecord } from "./kill-record.ts";
import { TIMES_FILE } from "./processor-time.ts";
import { root } from "./step.ts";
import { pathWithoutScripts } from "./test-machine.ts";
import { longestFirst } from "./test-order.ts";
import { alone, type Pack, packsOf } from "./test-packs.ts";
import { reportTests } from "./test-report.ts";

/**
 * How many test processes run at once. Three times the two processors that we count on: a test often waits,
 * for a disk, a server or a child, and others compute meanwhile.
 */
const AT_ONCE = 6;

/**
 * For new objects, in MB. V8 begins with less, and what a test process has in use at its start is then copied
 * several times over.
 */
const YOUNG_SPACE = 8;

const PROCESSOR_TIME = join(root, "scripts/processor-time.ts");

/**
 * The test files whose path contains one of the filters, in the order in which they run; all without a
 * filter.
 */
export function findTests(filters: readonly string[]): readonly string[] {
  const files = longestFirst(globSync(["src/**/*.test.ts", "test/**/*.test.ts"], { cwd: root }).sort());
  if (filters.length === 0) return files;
  return files.filter((file) => filters.some((filter) => file.includes(filter.replace(/^[.][/]/, ""))));
}

interface RunOptions {
  /** Whether the tests together, if none is skipped, have to kill at every failpoint there is. */
  readonly killsAtAll?: boolean;
}

/**
 * Runs test files, some at a time. Under CI a skipped test counts as a failed one. Returns why the run
 * failed, if it did.
 */
export async function runTests(
  files: readonly string[],
  options: RunOptions = {},
): Promise<string | undefined> {
  // Coverage would be less exact with either.
  if (process.env["NODE_V8_COVERAGE"] !== undefined) return await outcomeOf(files.map(alone), options);
  // What Node has compiled, for the thousands of processes that the tests start: most of them do little else
  // than to start.
  const compiled = mkdtempSync(join(tmpdir(), "drydock-compiled-"));
  chmodSync(compiled, 0o755);
  // Programs of the tests, bundled by the first test that needs one.
  const bundles = join(root, "node_modules/.cache", `drydock-bundles-${process.pid}`);
  mkdirSync(bundles, { recursive: true });
  // Data of database servers, made by the first test that needs one.
  const templates = mkdtempSync(join(tmpdir(), "drydock-templates-"));
  chmodSync(templates, 0o755);
  const programs = mkdtempSync(join(tmpdir(), "drydock-programs-"));
  chmodSync(programs, 0o755);
  Object.assign(process.env, {
    NODE_COMPILE_CACHE: compiled,
    DRYDOCK_TEST_BUNDLES: bundles,
    DRYDOCK_TEST_TEMPLATES: templates,
    [TIMES_FILE]: join(templates, "processor-times"),
    PATH: pathWithoutScripts(programs),
  });
  const isLong = process.env["DRYDOCK_TEST"] === "long";
  try {
    return await outcomeOf(isLong ? files.map(alone) : packsOf(files, programs), options);
  } finally {
    for (const folder of [compiled, bundles, templates, programs])
      rmSync(folder, { recursive: true, force: true });
  }
}

async function outcomeOf(packs: readonly Pack[], { killsAtAll }: RunOptions): Promise<string | undefined> {
  using kills = new KillRecord();
  process.env["DRYDOCK_FAILPOINT_KILLS"] = kills.file;
  const outcome = await reportTests(
    run({
      files: packs.map(({ program }) => program),
      cwd: root,
      concurrency: AT_ONCE,
      // "drydock-sandbox/strategy" in a test is the source that the test looks at, not the last build.
      execArgv: [
        "--conditions=drydock-source",
        `--min-semi-space-size=${YOUNG_SPACE}`,
        `--import=${PROCESSOR_TIME}`,
      ],
      // What tries every point of a crash suite, or every moment, takes its time.
      timeout: process.env["DRYDOCK_TEST"] === "long" ? 7_200_000 : 900_000,
    }),
    packs,
  );
  if (outcome.tests === 0) return "There was no test to run.";
  const missing = killsAtAll === true && outcome.skipped === 0 ? await kills.missing() : [];
  const why = [
    ...(outcome.failed > 0 ? [`${outcome.failed} tests failed.`] : []),
    ...(outcome.skipped > 0 && process.env["CI"] === "true"
      ? [`${outcome.skipped} tests were skipped, and CI=true: what is promised must be tested there.`]
      : []),
    ...(missing.length > 0 ? [`No test kills at ${missing.join(", ")}.`] : []),
  ];
  return why.length === 0 ? undefined : why.join(" ");
}
