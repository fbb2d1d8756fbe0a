import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { ACTORS, type Actor, inTurn, Stage } from "../run/stage.ts";

const WORKTREE = ".,strategy=git_worktree";

/** A project that is a git checkout. */
function checkoutFor(actor: Actor): Stage {
  const stage = new Stage(actor);
  mkdirSync(join(stage.project, "src"));
  stage.write("project/src/b.txt", "b\n");
  stage.write("project/.gitignore", "*.log\n");
  stage.write("home/.gitconfig", "[user]\n\tname = Ann\n\temail = ann@example.com\n");
  stage.give();
  const { status, stderr } = stage.shell("git init -q -b main . && git add . && git commit -qm begin");
  assert.equal(status, 0, stderr);
  return stage;
}

for (const actor of ACTORS) {
  describe(`A command in a plan over a git checkout, run by ${actor}`, () => {
    const it = inTurn(actor);
    it("works in the worktree, at the place that matches where it was started, and is told where that is", () => {
      using stage = checkoutFor(actor);
      const run = stage.drydock(
        [
          "run",
          "--discard",
          "-r",
          "..,strategy=git_worktree",
          "--",
          "sh",
          "-c",
          'pwd; cat b.txt; echo "$DRYDOCK_RESOURCE_PROJECT"',
        ],
        {
          cwd: join(stage.project, "src"),
        },
      );
      assert.equal(run.status, 0, run.stderr);
      const [cwd = "", content, resource] = run.stdout.split("\n");
      assert.match(cwd, /\/worktree\/src$/);
      assert.equal(content, "b");
      assert.equal(`${resource}/src`, cwd);
    });

    it("uses git there as usual, and its commits land", () => {
      using stage = checkoutFor(actor);
      const script =
        "set -e; git status --porcelain; echo 2 >> a.txt; git add a.txt; git commit -qm inside; git checkout -q -b side HEAD~1;" +
        "echo s > s.txt; git add .; git commit -qm side; git rebase -q drydock/$DRYDOCK_PLAN;" +
        "git checkout -q drydock/$DRYDOCK_PLAN; git merge -q side; git log --format=%s; git fsck";
      const run = stage.drydock(["run", "--apply", "-r", WORKTREE, "--", "sh", "-c", script]);
      assert.equal(run.status, 0, run.stderr);
      assert.equal(run.stdout, "side\ninside\nbegin\n");
      const { stdout } = stage.shell(
        "git log --topo-order --no-merges --format=%s; git status --porcelain; cat a.txt s.txt",
      );
      assert.equal(stdout, "side\ninside\nbegin\none\n2\ns\n");
    });

    it("[G7] can't change the user's .git: no hook, no config, no ref, no object", () => {
      using stage = checkoutFor(actor);
      const before = stage.shell("find .git -type f | sort | xargs sha256sum; git for-each-ref").stdout;
      const script = `cd '${stage.project}'
        echo 'evil' > .git/hooks/post-merge
        git config core.editor evil
        git update-ref refs/heads/evil HEAD
        git branch -f main HEAD
        echo x | git hash-object -w --stdin
        rm -rf .git/refs
        echo dirty > a.txt
        true`;
      const run = stage.drydock(["run", "--keep", "-r", WORKTREE, "--", "sh", "-c", script]);
      assert.equal(run.status, 0, run.stderr);
      assert.match(run.stderr, /[Rr]ead-only file system/);
      const after = stage.shell("find .git -type f | sort | xargs sha256sum; git for-each-ref").stdout;
      assert.equal(after, before);
      assert.equal(readFileSync(join(stage.project, "a.txt"), "utf8"), "one\n");
    });

    it("sees nothing of Drydock's state but its own worktree", () => {
      using stage = checkoutFor(actor);
      const script = 'cd "$DRYDOCK_RESOURCE_PROJECT/.."; ls -A; ls -A ..; touch x';
      const run = stage.drydock(["run", "--discard", "-r", WORKTREE, "--", "sh", "-c", script]);
      assert.match(run.stdout, /^worktree\n[0-9A-Z]{26}-[0-9A-Z]{26}\n$/);
      assert.match(run.stderr, /also wrote 1 file outside the plan; not landed/);
    });

    it("shares the worktree with another command of the plan, also after the first has ended", () => {
      using stage = checkoutFor(actor);
      const plan = stage.drydock(["plan", "create", "-r", WORKTREE, "--name", "p"]);
      assert.equal(plan.status, 0, plan.stderr);
      const worktree = stage.done("plan", "path", "p").trim();
      const script = `"$DRYDOCK" plan exec p -- sh -c 'echo 1 > one; until [ -e go ]; do sleep 0.1; done; echo 1 > done' &
        until [ -e '${worktree}/one' ]; do sleep 0.1; done
        "$DRYDOCK" plan exec p -- sh -c 'cat one; touch go; until [ -e done ]; do sleep 0.1; done; sleep 1; echo 2 > two; ls'
        wait`;
      const { stdout, stderr } = stage.shell(script);
      assert.equal(stdout, "1\na.txt\ndone\ngo\none\nsrc\ntwo\n", stderr);
      assert.equal(stage.drydock(["plan", "apply", "p"]).status, 0);
      assert.equal(existsSync(join(stage.project, "two")), true);
    });

    it("without -r works on the files themselves, so that what git ignores lands too", () => {
      using stage = checkoutFor(actor);
      const run = stage.drydock(["run", "--apply", "--", "sh", "-c", "pwd; echo x > made.log"]);
      assert.equal(run.status, 0, run.stderr);
      assert.equal(run.stdout, `${stage.project}\n`);
      assert.equal(existsSync(join(stage.project, "made.log")), true);
    });
  });
}
