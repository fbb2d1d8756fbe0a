import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { mountImage, whyNoImages } from "../support/file-systems.ts";
import { runDriver } from "./run-driver.ts";
import { checkpoint, restore } from "./sandbox-scenarios.ts";
import { apply, cancel, create, requestOf, rollback, type Scenario, undo } from "./scenarios.ts";
import { CHANGING_CALLS, tracedFailpoints, uncoveredCalls } from "./system-call-trace.ts";
import { World, type WorldOptions } from "./world.ts";

// What Node keeps of what it has compiled is no change of ours.
delete process.env["NODE_COMPILE_CACHE"];

const hasStrace = spawnSync("strace", ["-V"]).status === 0;

function straceTo(file: string): readonly string[] {
  return [
    "strace",
    "-f",
    "-y",
    "-s",
    "300",
    "-o",
    file,
    "-e",
    `trace=${CHANGING_CALLS.map((name) => `?${name}`).join(",")}`,
  ];
}

/** Runs the scenario under strace and returns the trace and the file of its failpoints. */
async function traceScenario(
  scenario: Scenario,
  options: WorldOptions = { strategy: "filesystem_copy" },
): Promise<{ readonly trace: string; readonly failpointFile: string }> {
  const world = new World(options);
  const folder = mkdtempSync(join(tmpdir(), "drydock-trace-"));
  const [calls, failpointFile] = [join(folder, "calls"), join(folder, "failpoints")];
  try {
    await scenario.arrange(world);
    const end = await runDriver(requestOf(scenario, world), { by: straceTo(calls), trace: failpointFile });
    assert.notEqual(end.done, undefined, end.failed?.stack ?? end.stderr);
    return { trace: readFileSync(calls, "utf8"), failpointFile };
  } finally {
    rmSync(folder, { recursive: true, force: true });
    world.remove();
  }
}

/**
 * Node gives the folder of coverage to every child, whatever its environment is to be; what is written there
 * is not ours.
 */
function uncovered(trace: string, failpointFile: string): readonly string[] {
  const coverage = process.env["NODE_V8_COVERAGE"];
  const calls = uncoveredCalls(trace, { failpointFile, database: "drydock.db" });
  return coverage === undefined ? calls : calls.filter((call) => !call.includes(coverage));
}

describe("every changing system call has its failpoint", {
  skip: hasStrace ? false : "strace is not installed",
}, () => {
  for (const scenario of [create, apply, undo])
    it(`[A3] in ${scenario.name}`, async (t) => {
      const { trace, failpointFile } = await traceScenario(scenario);
      const points = tracedFailpoints(trace, failpointFile);
      assert.ok(points.length > 20, `only ${points.length} failpoints are in the trace`);
      assert.deepEqual(uncovered(trace, failpointFile), []);
      t.diagnostic(`${scenario.name}: ${points.length} failpoints passed`);
    });

  it("[A3] in all that is done with a snapshot", { skip: whyNoImages() ?? false }, async () => {
    using image = mountImage("btrfs");
    const subvolumes = [1, 2].map(() => ({ folder: image.path, isSubvolume: true }));
    for (const scenario of [create, apply, rollback, checkpoint, restore, cancel]) {
      const { trace, failpointFile } = await traceScenario(scenario, {
        strategy: "snapshot",
        places: subvolumes,
      });
      assert.match(trace, /BTRFS_IOC_SNAP_/);
      assert.deepEqual(uncovered(trace, failpointFile), [], scenario.name);
    }
  });

  it("[A3] a change without one is found", () => {
    const folder = mkdtempSync(join(tmpdir(), "drydock-trace-"));
    const [calls, failpointFile] = [join(folder, "calls"), join(folder, "failpoints")];
    const [strace = "", ...options] = straceTo(calls);
    try {
      const program = join(import.meta.dirname, "planted-violation.ts");
      const { NODE_OPTIONS: _, ...inherited } = process.env;
      const env = { ...inherited, DRYDOCK_FAILPOINT_TRACE: failpointFile };
      const { status, stderr } = spawnSync(strace, [...options, process.execPath, program, folder], {
        env,
        encoding: "utf8",
      });
      assert.equal(status, 0, stderr);
      const found = uncovered(readFileSync(calls, "utf8"), failpointFile);
      assert.equal(found.length, 1, found.join("\n"));
      assert.match(found[0] ?? "", /not-covered.*after failpoint planted\.create/);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
});
