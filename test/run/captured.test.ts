import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { PACKAGE_FLAGS } from "../end-to-end/workplace.ts";
import { ACTORS, ANY_ACTOR, Stage } from "./stage.ts";

const PROGRAM = join(import.meta.dirname, "captured-program.ts");

for (const actor of ACTORS) {
  describe(`A command whose output is captured, run by ${actor}`, () => {
    it("[P1] has its output, input, folder, environment, signals and time limit with every strategy", () => {
      using stage = new Stage(actor);
      stage.write("project/sub/file", "");
      assert.equal(
        stage.shell("git init -q && git add . && git -c user.name=a -c user.email=b commit -qm 1", {
          cwd: stage.project,
        }).status,
        0,
      );
      stage.give();
      const all = ["overlay", "filesystem_copy", "git_worktree", "none"];
      // Without privilege only an overlay is another thing.
      const strategies = actor === "root" ? all : all.slice(0, 1);
      const ended = stage.run(process.execPath, [...PACKAGE_FLAGS, PROGRAM, stage.project, ...strategies]);
      assert.equal(ended.status, 0, ended.stderr);
      const results = JSON.parse(ended.stdout);
      assert.deepEqual(
        results.map(({ strategy }: { strategy: string }) => strategy),
        strategies,
      );
      for (const result of results) {
        const { strategy, exact, bytes, much, late, aborted, spawned, atTerminal } = result;
        const { exitCode, stdout, stderr, truncated, durationMs } = exact;
        assert.deepEqual(
          { exitCode, truncated },
          { exitCode: 3, truncated: { stdout: false, stderr: false } },
        );
        assert.match(stdout, /^typed\n\/.*\n$/, strategy);
        if (strategy !== "git_worktree") assert.equal(stdout, `typed\n${stage.project}/sub\n`);
        assert.equal(stderr, "from env\n");
        assert.ok(durationMs > 0);
        assert.deepEqual(bytes, ["a\udcffé", [0x61, 0xff, 0xc3, 0xa9]]);
        const [head, middle, ...tail] = much.text.split("\n[");
        assert.match(head, /^(?:é\n)+é?$/);
        assert.match(`${middle}${tail}`, /^… 29\d{4} bytes left out …\]\n\n?(?:é\n)+$/);
        assert.equal(much.omitted, Number(/(\d+) bytes/.exec(middle)?.[1]));
        assert.deepEqual(much.truncated, { stdout: true, stderr: false });
        assert.deepEqual(late, { exitCode: 143, signal: "SIGTERM", limit: "time" });
        assert.equal(aborted, "INTERRUPTED");
        assert.deepEqual(spawned, { first: "got line\n", exitCode: 143, signal: "SIGTERM" });
        assert.match(
          atTerminal.shown,
          /30 100\r\n[\s\S]*31 101\r\n[\s\S]*typed\r\n[\s\S]*\/dev\/pts\/0\r\n$/,
        );
        assert.equal(atTerminal.exitCode, 0);
        assert.deepEqual(result.unread, { exitCode: 0, length: 120004, end: "xend\n" });
        assertLogged(result);
      }
    });

    it("[P1] ends with the process that captures it, even if that is killed", async () => {
      using stage = new Stage(actor);
      const id = stage.done("plan", "create", "-r", stage.project).trim();
      const script = "echo $$ > started; exec sleep 1000";
      const running = stage.start(["plan", "exec", id, "--json", "--", "sh", "-c", script]);
      const isUp = () => stage.drydock(["plan", "read", id, "project", "started"]).stdout !== "";
      while (!isUp()) await setTimeout(20);
      assert.equal(sleepers(stage), 1);
      running.signal("SIGKILL");
      while (sleepers(stage) > 0) await setTimeout(20);
      assert.equal(stage.drydock(["plan", "cancel", id]).status, 0);
    });
  });
}

interface Captured {
  readonly exact: { readonly stdout: string; readonly stderr: string };
  readonly atTerminal: { readonly shown: string };
  readonly logged: readonly string[];
}

/** The history has both outputs of each command, within bounds. */
function assertLogged({ logged, exact, atTerminal }: Captured): void {
  const [first = "", bytes, much = "", late, aborted, spawned, shown, unread = "", ...others] = logged;
  assert.deepEqual(others, []);
  // Two pipes don't tell which of their lines came first.
  const lines = (text: string) => text.split("\n").toSorted();
  assert.deepEqual(lines(first), lines(exact.stdout + exact.stderr));
  assert.deepEqual([bytes, late, aborted, spawned], ["a\udcffé", "", "", "got line\n"]);
  assert.equal(shown, atTerminal.shown);
  for (const [text, ends] of [
    [much, /^(?:é\n)+é?\n\[… 28\d{4} bytes left out …\]\n\n?(?:é\n)+$/],
    [unread, /^x+\n\[… 10\d{4} bytes left out …\]\nx+end\n$/],
  ] as const) {
    assert.match(text, ends);
    assert.ok(Buffer.byteLength(text) < 17 * 1024);
  }
}

for (const actor of ANY_ACTOR) {
  describe(`A command whose output is one document, run by ${actor}`, () => {
    it("[P1] is one document with plan exec --json, which ends with the command's exit code", () => {
      using stage = new Stage(actor);
      const id = stage.done("plan", "create", "-r", stage.project).trim();
      const run = (input: string, ...args: readonly string[]) => {
        const { status, stdout, stderr } = stage.drydock(["plan", "exec", id, "--json", ...args], { input });
        assert.equal(stderr, "");
        const { durationMs, ...result } = JSON.parse(stdout);
        assert.equal(typeof durationMs, "number");
        return { status, ...result };
      };
      const facts = {
        planId: id,
        scratch: { files: 0, places: [] },
        truncated: { stdout: false, stderr: false },
      };
      assert.deepEqual(run("in\n", "--", "sh", "-c", "cat; printf '\\377' >&2; exit 7"), {
        ...facts,
        ...{ status: 7, exitCode: 7, stdout: "in\n", stderr: "\udcff" },
      });
      assert.deepEqual(run("", "--", "sh", "-c", "kill -9 $$"), {
        ...facts,
        ...{ status: 137, exitCode: 137, signal: "SIGKILL", stdout: "", stderr: "" },
      });
      const much = run("", "--max-output", "1k", "--", "seq", "100000");
      assert.equal(much.truncated.stdout, true);
      assert.match(much.stdout, /^1\n2\n[\s\S]*\n\[… \d+ bytes left out …\]\n[\s\S]*\n100000\n$/);
      assert.doesNotMatch(stage.done("plan", "log", id), /left out/);
      stage.done("plan", "exec", id, "--", "echo", "straight to its caller");
      const { entries } = stage.answer("plan", "log", id);
      const executed = entries.filter(({ event }: { event: string }) => event === "executed");
      const outputs = executed.map(({ details }: { details: { output?: string } }) => details.output);
      assert.match(outputs[0], /^(?:in\n\udcff|\udcffin\n)$/);
      assert.equal(outputs[1], "");
      assert.match(outputs[2], /^1\n2\n[\s\S]*\n\[… \d+ bytes left out …\]\n[\s\S]*\n100000\n$/);
      assert.deepEqual(outputs.slice(3), [undefined]);
    });
  });
}

/** How many commands sleep with this environment. */
function sleepers(stage: Stage): number {
  const { stdout } = stage.shell("pgrep -x sleep || true");
  return stdout
    .split("\n")
    .filter(Boolean)
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/environ`, "utf8").includes(stage.path);
      } catch {
        return false;
      }
    }).length;
}
