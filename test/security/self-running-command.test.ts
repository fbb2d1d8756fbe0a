import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe } from "node:test";
import { ACTORS, inTurn, Stage } from "../run/stage.ts";

const MAKE_HOOK =
  "mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit; echo 2 > a.txt";

for (const actor of ACTORS) {
  describe(`A command that makes what tools run by themselves, as ${actor}`, () => {
    const it = inTurn(actor);
    it("[X9] does not get it landed by --apply, not even with --yes; the plan is kept, and --allow lands it", () => {
      using stage = new Stage(actor);
      const hook = join(stage.project, ".git/hooks/pre-commit");
      const ended = stage.drydock(["run", "--apply", "--yes", "--", "sh", "-c", MAKE_HOOK]);
      assert.equal(ended.status, 1, ended.stderr);
      assert.match(
        ended.stderr,
        /they land only with your word \(--allow\):\n {2}project\/\.git\/hooks\/pre-commit {2}git\n/,
      );
      assert.match(ended.stderr, /^error: The plan was not applied: /m);
      assert.match(ended.stderr, /^ {2}hint: .*--allow/m);
      assert.match(ended.stderr, /^ {2}runs by itself: project\/\.git\/hooks\/pre-commit: git /m);
      assert.equal(stage.read("project/a.txt"), "one\n");
      assert.equal(existsSync(hook), false);
      const failed = JSON.parse(stage.drydock(["plan", "apply", "--json"]).stdout);
      assert.deepEqual(
        failed.error.details.selfRunning.map(({ resource, path, tool }: { [key: string]: string }) => [
          resource,
          path,
          tool,
        ]),
        [["project", ".git/hooks/pre-commit", "git"]],
      );
      assert.equal(stage.drydock(["plan", "apply", "--allow", "x", "--allow", ".git/hooks/*"]).status, 0);
      assert.equal(existsSync(hook), true);
      assert.equal(stage.read("project/a.txt"), "2\n");
    });

    it("[X9] gets it landed at once where --allow names it", () => {
      using stage = new Stage(actor);
      const ended = stage.drydock(["run", "--apply", "--allow", ".git", "--", "sh", "-c", MAKE_HOOK]);
      assert.equal(ended.status, 0, ended.stderr);
      assert.match(ended.stderr, /deleted, or allowed:\n {2}project\/\.git\/hooks\/pre-commit/);
      assert.equal(existsSync(join(stage.project, ".git/hooks/pre-commit")), true);
    });

    it("[X9] has it named and asked for at a terminal, and a no keeps the plan", async () => {
      using stage = new Stage(actor);
      const hook = join(stage.project, ".git/hooks/pre-commit");
      stage.write("project/make.sh", `${MAKE_HOOK}\n`);
      stage.give();
      const run = stage.terminal('"$DRYDOCK" run -- sh make.sh; echo "code $?"');
      await run.until(() => /Apply, keep or discard/.test(run.stdout));
      run.input("a\n");
      await run.until(() => /Land also what tools run by themselves\? /.test(run.stdout));
      assert.match(run.stdout, /only with your word[^\n]*\n {2}project\/\.git\/hooks\/pre-commit/);
      run.input("n\n");
      await run.until(() => /code 0/.test(run.stdout));
      await run.ended();
      assert.match(run.stdout, /Kept as plan/);
      assert.equal(existsSync(hook), false);
      const { stdout: patch } = await stage.terminal('"$DRYDOCK" plan diff --patch > /dev/null').ended();
      assert.match(patch, /only with your word[^\n]*\n {2}project\/\.git\/hooks\/pre-commit/);
      const apply = stage.terminal('"$DRYDOCK" plan apply; echo "code $?"');
      await apply.until(() => /Land also what tools run by themselves\? /.test(apply.stdout));
      assert.match(apply.stdout, /without being started:[^\n]*\n {2}project\/\.git\/hooks\/pre-commit {2}/);
      apply.input("y\n");
      await apply.until(() => /code 0/.test(apply.stdout));
      await apply.ended();
      assert.equal(existsSync(hook), true);
    });
  });
}
