import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused } from "../end-to-end/workplace.ts";
import { ANY_ACTOR, Stage } from "./stage.ts";

for (const actor of ANY_ACTOR) {
  describe(`Commands as people type them, by ${actor}`, () => {
    it("begins the command at the first word that is no option, and at '--'", () => {
      using stage = new Stage(actor);
      const bare = stage.drydock(["run", "--discard", "echo", "--json", "--", "-x", "--apply"]);
      assert.deepEqual([bare.status, bare.stdout], [0, "--json -- -x --apply\n"], bare.stderr);
      const dashed = stage.drydock(["run", "--discard", "--", "echo", "--", "--keep"]);
      assert.deepEqual([dashed.status, dashed.stdout], [0, "-- --keep\n"], dashed.stderr);
      assertRefused(stage.drydock(["run", "--unknown", "true"]), 2, /Unknown option '--unknown'/i);
      assertRefused(stage.drydock(["run", "--discard"]), 2, /no command to run/, /drydock run COMMAND/);
    });

    it("works in the folder of -C, and starts a command of a plan there", () => {
      using stage = new Stage(actor);
      stage.write("project/deep/b.txt", "b\n");
      stage.give();
      const ended = stage.drydock([
        "run",
        "-C",
        "deep",
        "--apply",
        "sh",
        "-c",
        "pwd; echo 2 > b.txt; echo 2 > ../a.txt",
      ]);
      assert.deepEqual([ended.status, ended.stdout], [0, `${stage.project}/deep\n`], ended.stderr);
      assert.equal(stage.read("project/deep/b.txt"), "2\n");
      assert.equal(stage.read("project/a.txt"), "one\n", "the folder of -C is the whole plan");
      stage.done("plan", "create", "-r", stage.project);
      const inPlan = stage.drydock(["plan", "exec", "-C", "deep", "--", "pwd"]);
      assert.deepEqual([inPlan.status, inPlan.stdout], [0, `${stage.project}/deep\n`], inPlan.stderr);
      assertRefused(stage.drydock(["run", "-C", "a.txt", "true"]), 2, /There is no folder .*a\.txt/);
    });

    it("gives a command the variables of --env", () => {
      using stage = new Stage(actor);
      const said = stage.drydock(
        [
          "run",
          "--discard",
          "--env",
          "A=1=2",
          "--env",
          "B",
          "--env",
          "EMPTY=",
          "sh",
          "-c",
          'echo "$A,$B,${EMPTY-unset}"',
        ],
        { env: { B: "here" } },
      );
      assert.deepEqual([said.status, said.stdout], [0, "1=2,here,\n"], said.stderr);
      for (const wrong of ["NOT_SET", "=x"])
        assertRefused(stage.drydock(["run", "--env", wrong, "true"]), 2, /The variable/, /--env NAME=VALUE/);
    });

    it("[I5] asks a command to end when its time is over, and never applies its work", () => {
      using stage = new Stage(actor);
      const ended = stage.drydock([
        "run",
        "--apply",
        "--timeout",
        "1s",
        "sh",
        "-c",
        "echo 2 > a.txt; sleep 300",
      ]);
      assert.equal(ended.status, 143, ended.stderr);
      assert.match(ended.stderr, /^The command met its time limit of 1s and was ended\.$/m);
      assert.match(ended.stderr, /^Not applied, because the command met a limit; kept as plan/m);
      const willing = "trap 'exit 0' TERM; echo 2 > a.txt; while :; do sleep 0.1; done";
      const { exitCode, limit, outcome } = JSON.parse(
        stage.drydock(["run", "--json", "--apply", "--limit", "time=1s", "sh", "-c", willing]).stdout,
      );
      assert.deepEqual({ exitCode, limit, outcome }, { exitCode: 0, limit: "time", outcome: "kept" });
      assert.equal(stage.read("project/a.txt"), "one\n");
    });

    it("says nothing with -q but where the work is", () => {
      using stage = new Stage(actor);
      const quiet = (...args: readonly string[]) => stage.drydock(["run", "-q", ...args]);
      const write = ["sh", "-c", "echo 2 > a.txt; echo 1 > $HOME/outside"];
      assert.deepEqual(quiet("--discard", ...write), { status: 0, stdout: "", stderr: "" });
      assert.deepEqual(quiet("true"), { status: 0, stdout: "", stderr: "" });
      assert.match(quiet("--keep", ...write).stderr, /^Kept as plan \w{26}\.\n$/);
      const exec = stage.drydock(["plan", "exec", "-q", "--", "sh", "-c", "echo 2 > $HOME/outside"]);
      assert.deepEqual(exec, { status: 0, stdout: "", stderr: "" });
    });

    it("folds large folders of changes, and shows as many lines as one asks for", () => {
      using stage = new Stage(actor);
      const make =
        "mkdir -p lib/x lib/y; for i in $(seq 400); do echo $i > lib/x/$i; echo $i > lib/y/$i; done";
      const said = (...options: readonly string[]) =>
        stage.inside(`${make}; echo 2 > a.txt`, ...options).stderr;
      const lines = said().split("\n");
      assert.ok(lines.length < 20, said());
      assert.ok(
        lines.some((line) => /^ project\/lib\/x\/ +\| 400 added$/.test(line)),
        lines.join("\n"),
      );
      assert.ok(
        lines.some((line) => /^ project\/a\.txt +\| 2 \+-$/.test(line)),
        lines.join("\n"),
      );
      assert.match(said("--stat", "1"), /^ project\/a\.txt +\|.*\n … and 80[0-9] more\n80[0-9] added/);
      assert.equal(
        said("--stat=2000")
          .split("\n")
          .filter((line) => line.includes(" | ")).length,
        804,
      );
      assertRefused(stage.drydock(["run", "--stat", "x", "true"]), 2, /not a number of lines/);
    });

    it("lets the user view the changes at the terminal, and pick those that land", async () => {
      using stage = new Stage(actor);
      stage.write("project/b.txt", "one\n");
      stage.give();
      const script = `PAGER='sed s/^/paged:/' "$DRYDOCK" run sh -c 'echo two > a.txt; echo two > b.txt'`;
      const terminal = stage.terminal(script);
      const QUESTIONS = { v: "[a/K/d/v/p]", p: "stays in the plan: " };
      const answer = async (question: keyof typeof QUESTIONS, times: number, text: string) => {
        await terminal.until(() => terminal.stdout.split(QUESTIONS[question]).length > times);
        terminal.input(`${text}\n`);
      };
      await answer("v", 1, "v");
      await answer("v", 2, "p");
      assert.match(terminal.stdout, /paged:.*\+two/);
      await answer("p", 1, "nope.txt");
      await answer("v", 3, "p");
      assert.match(terminal.stdout, /Nothing that the plan changes is meant by 'nope\.txt'/);
      await answer("p", 2, '"b.txt"');
      const { status, stdout } = await terminal.ended();
      assert.equal(status, 0, stdout);
      assert.match(stdout, /Applied a part of plan/);
      assert.deepEqual([stage.read("project/a.txt"), stage.read("project/b.txt")], ["one\n", "two\n"]);
      assert.equal(stage.done("diff", "--name-only"), "project/a.txt\n");
    });

    it("runs the user's shell as a command", () => {
      using stage = new Stage(actor);
      const shell = stage.drydock(["shell", "--apply"], {
        input: "echo $0; echo 2 > a.txt\n",
        env: { SHELL: "/bin/sh" },
      });
      assert.deepEqual([shell.status, shell.stdout], [0, "/bin/sh\n"], shell.stderr);
      assert.equal(stage.read("project/a.txt"), "2\n");
      assertRefused(stage.drydock(["shell", "ls"]), 2, /Too many arguments/i);
    });

    it("has short forms of what plans are used for most", () => {
      using stage = new Stage(actor);
      mkdirSync(join(stage.project, "empty"));
      stage.give();
      const plan = stage.done("plan", "create", "-r", stage.project, "--name", "work").trim();
      stage.drydock(["plan", "exec", "--", "sh", "-c", "echo 2 > a.txt"]);
      assert.deepEqual(stage.answer("list"), stage.answer("plan", "list"));
      assert.deepEqual(stage.answer("status"), stage.answer("plan", "show"));
      assert.equal(stage.done("diff", "--name-only"), "project/a.txt\n");
      assert.equal(stage.answer("apply", "work", "-m", "why").planId, plan);
      assert.equal(stage.read("project/a.txt"), "2\n");
      assert.equal(stage.answer("undo", "work").planId, plan);
      assert.equal(stage.read("project/a.txt"), "one\n");
    });
  });
}
