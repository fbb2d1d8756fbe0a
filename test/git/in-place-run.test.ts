import assert from "node:assert/strict";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ACTORS, type Actor, inTurn, Stage } from "../run/stage.ts";
import { TestRepository } from "../support/test-repository.ts";
import { GitWorkshop } from "./git-workshop.ts";

const skip = process.geteuid?.() === 0 ? false : "only root has a path to the sandbox";

/** A project that is a git checkout, with files that git ignores. */
function checkoutFor(actor: Actor): Stage {
  const stage = new Stage(actor);
  for (const folder of ["src", "node_modules"]) mkdirSync(join(stage.project, folder));
  stage.write("project/src/b.txt", "b\n");
  stage.write("project/node_modules/module.js", "module\n");
  stage.write("project/.gitignore", "node_modules\n");
  stage.write("home/.gitconfig", "[user]\n\tname = Ann\n\temail = ann@example.com\n");
  stage.give();
  const { status, stderr } = stage.shell("git init -q -b main . && git add . && git commit -qm begin");
  assert.equal(status, 0, stderr);
  return stage;
}

for (const actor of ACTORS) {
  describe(`drydock run in a git checkout, by ${actor}`, () => {
    const it = inTurn(actor);
    it("[G8] works at its own path with everything in it, and lands as if it had been done in place", () => {
      using stage = checkoutFor(actor);
      const script =
        "set -e; pwd; cat node_modules/module.js; git status --porcelain; echo 2 >> a.txt; git commit -qam 'fix a';" +
        "echo more >> node_modules/module.js; echo open >> src/b.txt; git log --format=%s; git fsck";
      const run = stage.drydock(["run", "--apply", "--name", "fix", "--", "sh", "-c", script]);
      assert.equal(run.status, 0, run.stderr);
      assert.equal(run.stdout, `${stage.project}\nmodule\nfix a\nbegin\n`);
      assert.match(run.stderr, /\| 1 commit on main: fix a\n/);
      assert.doesNotMatch(run.stderr, /objects|warning/);
      const state = "git log --format=%s; git status --porcelain; cat a.txt node_modules/module.js; git fsck";
      const landed = stage.shell(state);
      assert.equal(landed.stdout, "fix a\nbegin\n M src/b.txt\none\n2\nmodule\nmore\n", landed.stderr);
      stage.done("plan", "undo", "fix");
      assert.equal(stage.shell(state).stdout, "begin\none\nmodule\n");
    });

    it("[G8] does so from a subfolder, where git works too", () => {
      using stage = checkoutFor(actor);
      const run = stage.drydock(
        ["run", "--apply", "--", "sh", "-c", "pwd; echo c > c.txt; git add c.txt; git commit -qm 'add c'"],
        { cwd: join(stage.project, "src") },
      );
      assert.equal(run.status, 0, run.stderr);
      assert.equal(run.stdout, `${stage.project}/src\n`);
      const { stdout } = stage.shell("git log --format=%s; git status --porcelain; cat src/c.txt");
      assert.equal(stdout, "add c\nbegin\nc\n");
    });

    it("[G8] names a conflict with what the user commits meanwhile, and merges what is none", () => {
      using stage = checkoutFor(actor);
      const script = "echo 2 >> a.txt; git commit -qam 'fix a'";
      assert.equal(stage.drydock(["run", "--keep", "--name", "one", "--", "sh", "-c", script]).status, 0);
      const other = script.replace("2", "3");
      assert.equal(stage.drydock(["run", "--keep", "--name", "two", "--", "sh", "-c", other]).status, 0);
      stage.shell("echo user > user.txt; git add user.txt; git commit -qm 'by the user'");
      stage.done("plan", "apply", "one");
      const log = stage.shell("git log --topo-order --format=%s; git status --porcelain; git fsck").stdout;
      assert.equal(log, "Merge 1 commit into main: fix a\nfix a\nby the user\nbegin\n");
      const refused = stage.drydock(["plan", "apply", "two"]);
      assert.equal(refused.status, 3, refused.stderr);
      assert.match(refused.stderr, /a\.txt: changed on main and in the plan/);
      assert.equal(stage.shell("find .git -name '*.lock' -o -name 'drydock-*'; git fsck").stdout, "");
    });
  });
}

describe("The strategy of a checkout", { skip }, () => {
  it("[G8] is overlay, which lands file by file where git's rules can't be kept", async () => {
    await using workshop = new GitWorkshop();
    const { repository } = workshop;
    const drydock = await workshop.open();
    const first = await drydock.plans.create({ resources: [{ location: "app" }] });
    assert.equal(first.resources[0]?.strategy, "overlay");
    repository.git("config", "remote.origin.promisor", "true");
    const plan = await drydock.plans.create({ resources: [{ location: "app" }] });
    assert.equal(plan.resources[0]?.strategy, "overlay");
    const path = await drydock.plans.path(plan.id);
    writeFileSync(join(path, "readme.txt"), "changed\n");
    const inside = new TestRepository(path);
    inside.git("commit", "-q", "-am", "inside");
    await drydock.plans.apply(plan.id);
    assert.equal(repository.git("log", "-1", "--format=%s"), "inside");
    assert.equal(readFileSync(join(repository.path, "readme.txt"), "utf8"), "changed\n");
    repository.assertSound();
  });
});
