import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";
import { COMPILED } from "../support/compile-cache.ts";
import { assertRefused, Workplace } from "./workplace.ts";

const conformance = join(import.meta.dirname, "../conformance");
const RESOURCE = `${conformance}/drawer-resource.ts:makeDrawer`;

describe("drydock strategy check", () => {
  it("[S9] reports of somebody else's strategy what holds, and what its capabilities leave out", () => {
    using place = new Workplace();
    const drawer = `${conformance}/drawer.ts:DrawerStrategy`;
    const ended = place.drydock(["strategy", "check", drawer, "--resource", RESOURCE, "--json"], {
      env: COMPILED,
    });
    const report = JSON.parse(ended.stdout);
    assert.equal(report.strategy, "drawer");
    assert.deepEqual(report.failed, []);
    const groups = new Set(report.passed.map(({ group }: { group: string }) => group));
    for (const group of [
      "contract",
      "life cycle",
      "isolation",
      "two-phase",
      "undo",
      "parts",
      "conflicts",
      "concurrency",
      "crash",
    ])
      assert.ok(groups.has(group), `nothing about ${group} was tried`);
    assert.match(report.excluded[0].reason, /is not a folder/);
  });

  it("[S9] says what does not hold, and ends with 1", () => {
    using place = new Workplace();
    const broken = `${conformance}/broken-drawers.ts:LandsInPrepare`;
    const { status, stdout } = place.drydock(["strategy", "check", broken, "--resource", RESOURCE], {
      env: COMPILED,
    });
    assert.equal(status, 1);
    assert.match(
      stdout,
      / {2}FAIL {2}prepares what was written without touching the original.*\n +the original after prepare/,
    );
    assert.match(stdout, /\ndrawer does not conform: \d+ passed, \d+ failed, \d+ left out\.\n$/);
  });

  it("[S3] takes the name of a strategy that the config declares, with its options", () => {
    using place = new Workplace();
    place.write(
      "strict.mjs",
      "export class Strict { static optionsSchema = { type: 'object', additionalProperties: false }; }\n",
    );
    const declared = "{ module: ./strict.mjs, class: Strict, options: { colour: red } }";
    place.write("drydock.yaml", `sandbox:\n  custom_strategies:\n    mine: ${declared}\n`);
    const ended = place.drydock(["--config", "drydock.yaml", "strategy", "check", "mine"]);
    assertRefused(
      ended,
      2,
      /drydock\.yaml:3:5: strategy mine: its options are not what Strict takes: .*colour/,
    );
  });

  it("refuses what it can't check, with what to do", () => {
    using place = new Workplace();
    place.write("no-class.mjs", "export const other = 1;\n");
    const check = (...args: readonly string[]) => place.drydock(["strategy", "check", ...args]);
    assertRefused(check("overlai"), 2, /There is no strategy called 'overlai'/, /Did you mean overlay\?/);
    assertRefused(check("./missing.mjs:Mine"), 2, /there is no file \.\/missing\.mjs/);
    assertRefused(check("./no-class.mjs:Mine"), 2, /exports no Mine/);
    assertRefused(
      check("transaction_rollback"),
      2,
      /does not know how to make a resource of type postgres-database/,
    );
    assertRefused(check("filesystem_copy", "--resource", "nowhere"), 2, /Resources can't be made there/);
    assertRefused(
      check("filesystem_copy", "--resource", "./no-class.mjs:make"),
      2,
      /exports no function make/,
    );
    assertRefused(check("filesystem_copy", "--resource", "no-class.mjs"), 2, /Resources can't be made there/);
  });
});
