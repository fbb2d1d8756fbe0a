import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";
import { ACTORS, type Actor, Stage } from "../run/stage.ts";
import { assertRefused } from "./workplace.ts";

/** A stage with a plan that changes one file of the project, and a trusted config with these checks. */
function stageWith(actor: Actor, checks = "[]"): Stage {
  const stage = new Stage(actor);
  stage.write("project/drydock.yaml", `checks: ${checks}\n`);
  stage.give();
  stage.done("trust", "drydock.yaml");
  stage.done("plan", "create", "--name", "fix", "-r", ".");
  stage.done("plan", "exec", "fix", "--", "sh", "-c", "echo two > a.txt");
  return stage;
}

interface Checked {
  readonly event: string;
  readonly details: { readonly [fact: string]: unknown };
}

function checkedIn(stage: Stage): readonly Checked["details"][] {
  const { entries } = stage.answer("plan", "log", "fix") as { entries: readonly Checked[] };
  return entries.filter(({ event }) => event === "checked").map(({ details }) => details);
}

describe("checks before a landing", () => {
  const actor = ACTORS[0] ?? "user";

  it("[V12] see the work of the plan, and let it land", () => {
    using stage = stageWith(actor, `["grep -q two a.txt"]`);
    stage.done("plan", "apply", "fix", "--check", "test -f a.txt");
    assert.equal(stage.read("project/a.txt"), "two\n");
    const checked = checkedIn(stage);
    assert.deepEqual(
      checked.map(({ check, exitCode }) => [check, exitCode]),
      [
        ["grep -q two a.txt", 0],
        ["test -f a.txt", 0],
      ],
    );
  });

  it("[V12] one that fails stops the landing; its output is shown and kept", () => {
    using stage = stageWith(
      actor,
      `[{ name: tests, run: "echo out; echo wrong >&2; exit 7" }, "echo never"]`,
    );
    const refused = stage.drydock(["plan", "apply", "fix"]);
    assertRefused(refused, 1, /The check 'tests' failed with exit code 7\./, /--no-checks/);
    assert.match(refused.stderr, /^ {2}check: out\n {2}check: wrong$/m);
    assert.equal(stage.read("project/a.txt"), "one\n");

    const { error } = JSON.parse(stage.drydock(["plan", "apply", "fix", "--json"]).stdout);
    assert.deepEqual([error.details.reason, error.details.check.exitCode], ["CHECK_FAILED", 7]);
    const [first, second, ...others] = checkedIn(stage);
    assert.deepEqual([first?.["output"], first?.["check"], others], ["out\nwrong\n", "tests", []]);
    assert.equal(second?.["digest"], first?.["digest"]);

    stage.done("plan", "apply", "fix", "--no-checks");
    assert.equal(stage.read("project/a.txt"), "two\n");
  });

  it("[V12] one that hangs or is killed stops the landing too", () => {
    using stage = stageWith(actor, `[{ run: "sleep 600", timeout: 1s }]`);
    const late = stage.drydock(["plan", "apply", "fix"]);
    assert.deepEqual([late.status, late.stdout], [1, ""]);
    assert.match(
      late.stderr,
      /^error: .*The check 'sleep 600' was ended because it met its limit of time\.$/m,
    );
    assertRefused(
      stage.drydock(["plan", "apply", "fix", "--no-checks", "--check", "kill -9 $$"]),
      1,
      /The check 'kill -9 \$\$' was ended by SIGKILL\./,
      /--no-checks/,
    );
    assert.equal(stage.read("project/a.txt"), "one\n");
    assert.deepEqual(
      checkedIn(stage).map(({ limit, signal }) => limit ?? signal),
      ["time", "SIGKILL"],
    );
  });

  it("run before the changes of a command land", () => {
    using stage = stageWith(actor, `["! grep -q bad a.txt"]`);
    stage.done("plan", "cancel", "fix");
    const run = (text: string) => stage.drydock(["run", "--apply", "--", "sh", "-c", `echo ${text} > a.txt`]);
    assert.equal(run("bad").status, 1);
    assert.equal(stage.read("project/a.txt"), "one\n");
    assert.equal(run("good").status, 0);
    assert.equal(stage.read("project/a.txt"), "good\n");
  });

  it("what can't land is refused before a check runs", () => {
    using stage = stageWith(actor, `["echo run >> /tmp/none"]`);
    assertRefused(stage.drydock(["plan", "apply", "fix", "--approved"]), 2, /is not approved/, /approve/);
    assertRefused(stage.drydock(["plan", "apply", "fix", "--digest", "0"]), 3, /the digest differs/, /diff/);
    assert.deepEqual(checkedIn(stage), []);
  });

  for (const each of ACTORS) {
    it(`what a check writes does not land, whether it succeeds or fails, for ${each}`, () => {
      using stage = stageWith(each);
      const apply = (check: string) => stage.drydock(["plan", "apply", "fix", "--check", check]);
      const { digest } = stage.answer("plan", "diff", "fix");
      assert.equal(apply("echo x > report.txt; echo changed > a.txt; false").status, 1);
      assert.equal(stage.answer("plan", "diff", "fix").digest, digest);
      assert.equal(apply("echo x > report.txt; rm a.txt").status, 0);
      assert.equal(stage.read("project/a.txt"), "two\n");
      assert.deepEqual(readdirSync(stage.project).sort(), ["a.txt", "drydock.yaml"]);
    });
  }
});
