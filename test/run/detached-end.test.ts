import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { program } from "../end-to-end/workplace.ts";
import { BOUNDED, type Detached, DetachedStage, gone } from "./detached-stage.ts";
import { ANY_ACTOR } from "./stage.ts";

for (const actor of ANY_ACTOR)
  describe(`the end of a detached run as ${actor}`, () => {
    it("[I11] lands with --apply when it has succeeded, and not when it has failed", async () => {
      using stage = new DetachedStage(actor);
      for (const [code, word] of [
        [3, "one"],
        [0, "two"],
      ] as const) {
        const { planId, pid } = await stage.detach(`echo two > a.txt; exit ${code}`, "--apply");
        assert.equal(stage.drydock(["attach", planId]).status, code);
        await gone(pid);
        assert.equal(stage.read("project/a.txt"), `${word}\n`);
        assert.deepEqual(stage.shown(planId).exitCode, code);
        if (code === 3) stage.done("plan", "cancel", planId);
      }
      const { pid } = await stage.detach(
        'trap "exit 0" TERM; echo three > a.txt; echo begun; while :; do sleep 0.1; done',
        "--apply",
      );
      const attached = stage.attach();
      await attached.until(() => attached.stdout.includes("begun"));
      stage.done("plan", "cancel", "work", "--force");
      assert.equal((await attached.ended()).status, 1);
      await gone(pid);
      assert.equal(stage.read("project/a.txt"), "two\n", "ended by force, it has not succeeded");
    });

    it("[I8] [I11] keeps what landed while it ran able to be undone, whatever becomes of the rest", async () => {
      using stage = new DetachedStage(actor);
      for (const [option, last, state] of [
        ["--keep", "", "applied"],
        ["--apply", "", "applied"],
        ["--discard", "", "applied"],
        ["--discard", "echo three > b.txt", "applied"],
        ["--keep", "echo three > b.txt", "open"],
      ] as const) {
        const script = `echo two > a.txt; echo begun; read word; ${last}`;
        const { planId, pid } = await stage.detach(script, option);
        const attached = stage.attach();
        await attached.until(() => attached.stdout.includes("begun"));
        assert.equal(stage.answer("plan", "apply", planId).state, "open");
        assert.equal(stage.read("project/a.txt"), "two\n");
        attached.input("word\r");
        const { status, stdout } = await attached.ended();
        assert.equal(status, 0, stdout);
        if (state === "applied") assert.match(stdout, new RegExp(`undo it: drydock plan undo ${planId}`));
        await gone(pid);
        assert.equal(stage.answer("plan", "show", planId).state, state);
        stage.done("plan", "undo", planId);
        assert.equal(stage.read("project/a.txt"), "one\n");
        if (state === "open") stage.done("plan", "cancel", planId);
      }
    });

    it("[I11] tells each one who attaches that it could not land, and why, also later", async () => {
      using stage = new DetachedStage(actor);
      const conflict = "read word; echo two > a.txt";
      const outside = 'read word; echo two > a.txt; echo two > "$HOME/outside.txt"';
      for (const [script, code, why] of [
        [conflict, 3, /conflict: project\/a\.txt/],
        [outside, 1, /Not applied, because the command wrote outside of the plan too; kept as plan/],
      ] as const) {
        const { planId, pid } = await stage.detach(script, "--apply");
        const first = stage.terminal(`${program} attach ${planId}`);
        stage.write("project/a.txt", "other\n");
        first.input("word\r");
        const live = await first.ended();
        assert.equal(live.status, code);
        assert.match(live.stdout, why);
        assert.deepEqual([stage.shown(planId).exitCode, stage.shown(planId).run?.exitCode], [0, code]);
        const later = stage.drydock(["attach", planId]);
        assert.equal(later.status, code);
        assert.match(later.stderr, why);
        assert.equal(JSON.parse(stage.drydock(["attach", planId, "--json"]).stdout).exitCode, code);
        assert.match(
          stage.done("plan", "show", planId),
          new RegExp(`exit code 0, and its run with ${code} `),
        );
        assert.match(
          stage.done("plan", "log", planId),
          new RegExp(`run ended +exit code ${code}, .*${why.source}`),
        );
        await gone(pid);
        stage.done("plan", "cancel", planId);
        stage.write("project/a.txt", "one\n");
        stage.give();
      }
    });

    it("[I11] goes on when a forced cancel is refused because another command runs beside it", async () => {
      using stage = new DetachedStage(actor);
      const { planId, pid } = await stage.detach("echo two > a.txt; exec sleep 1000");
      const wait = "echo up; until [ -e go ]; do sleep 0.05; done";
      const beside = stage.start(["plan", "exec", planId, "--", "sh", "-c", wait]);
      await beside.until(() => beside.stdout.includes("up"));
      const { status, stderr } = stage.drydock(["plan", "cancel", planId, "--force"]);
      assert.equal(status, 1);
      assert.match(stderr, /'sh -c .*' is running in the plan work/);
      assert.deepEqual([stage.shown().state, stage.shown().pid], ["running", pid]);
      stage.inPlan("touch", "go");
      assert.equal((await beside.ended()).status, 0);
      stage.done("plan", "cancel", planId, "--force");
      await gone(pid);
    });

    it("[I11] lets a forced cancel be interrupted while the process that keeps it does not answer", async () => {
      using stage = new DetachedStage(actor);
      const { planId, pid } = await stage.detach("sleep 1000");
      process.kill(pid, "SIGSTOP");
      const trace = join(stage.home, "trace");
      const cancel = stage.start(["plan", "cancel", planId, "--force"], { DRYDOCK_FAILPOINT_TRACE: trace });
      while (!existsSync(trace) || !readFileSync(trace, "utf8").includes("detached.stop"))
        await setTimeout(20);
      cancel.signal("SIGTERM");
      const { status, stderr } = await cancel.endedWithin(60);
      process.kill(pid, "SIGCONT");
      assert.equal(status, 1);
      assert.match(stderr, /[Ii]nterrupted/);
      stage.done("plan", "cancel", planId, "--force");
      await gone(pid);
    });

    it("[I11] runs until its landing is over", async () => {
      using stage = new DetachedStage(actor);
      const words = ["run", "--detach", "--apply", "--json", "--name", "work", ...BOUNDED];
      const env = { DRYDOCK_FAILPOINT: "land.exchange=stop" };
      const started = stage.drydock([...words, "sh", "-c", "echo two > a.txt"], { env });
      const { pid } = JSON.parse(started.stdout) as Detached;
      while (!/\) T /.test(readFileSync(`/proc/${pid}/stat`, "utf8"))) await setTimeout(20);
      assert.deepEqual([stage.shown().state, stage.shown().exitCode], ["running", undefined]);
      const attached = stage.attach();
      process.kill(pid, "SIGCONT");
      assert.equal((await attached.ended()).status, 0);
      assert.deepEqual([stage.shown().state, stage.read("project/a.txt")], ["ended", "two\n"]);
      await gone(pid);
    });
  });
