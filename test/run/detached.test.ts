import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, readdirSync, readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import type { DetachedView } from "../../src/index.ts";
import { frame } from "../../src/run/detached/detached-protocol.ts";
import { program, type Running } from "../end-to-end/workplace.ts";
import { ANY_ACTOR, Stage } from "./stage.ts";

const LEAVE = "\x1c";
/** If the test itself is killed, its commands end all the same. */
const BOUNDED = ["--timeout", "300s"];

interface Detached {
  readonly planId: string;
  readonly pid: number;
}

/** A place with commands that go on. Those that a test leaves running end with it. */
class DetachedStage extends Stage {
  /** Starts one from a terminal, which is gone when this returns. */
  async detach(script: string, ...options: readonly string[]): Promise<Detached> {
    this.write("project/script", script);
    this.give();
    const words = [
      program,
      "run",
      "--detach",
      "--name",
      "work",
      "--json",
      ...BOUNDED,
      ...options,
      "sh",
      "script",
    ];
    const { status, stdout } = await this.terminal(words.join(" ")).ended();
    assert.equal(status, 0, stdout);
    return JSON.parse(stdout) as Detached;
  }

  attach(): Running {
    return this.terminal(`${program} attach work`);
  }

  /** What `plan show` says of the command. */
  shown(plan = "work"): DetachedView {
    return this.answer("plan", "show", plan).detached;
  }

  inPlan(...command: readonly string[]): string {
    return this.done("plan", "exec", "work", "-q", "--", ...command);
  }

  /** Where the process listens that keeps the command of a plan. */
  socket(planId: string): string {
    return join(this.state, "runs", planId, "terminal.sock");
  }

  /** What running commands and their sockets have in the state directory. */
  get left(): readonly string[] {
    const uses = join(this.state, "uses");
    const runs = readdirSync(join(this.state, "runs"), { recursive: true, encoding: "utf8" });
    return [...(existsSync(uses) ? readdirSync(uses) : []), ...runs.filter((name) => name.endsWith(".sock"))];
  }
}

async function gone(pid: number): Promise<void> {
  for (let tries = 0; existsSync(`/proc/${pid}`); tries += 1) {
    assert.ok(tries < 3000, `${pid} never ended`);
    await setTimeout(20);
  }
}

/** Says something to a process that keeps a command, which answers by the end of the connection. */
async function refused(path: string, ...frames: readonly Buffer[]): Promise<void> {
  const socket = connect(path);
  socket.write(Buffer.concat(frames));
  socket.resume();
  await once(socket, "close", { signal: AbortSignal.timeout(60_000) });
}

/** As many connections on which nothing is said. */
async function silent(path: string, count: number): Promise<readonly Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(path).resume());
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  return sockets;
}

for (const actor of ANY_ACTOR)
  describe(`a detached run as ${actor}`, () => {
    it("[I11] goes on without its terminal, has other commands beside it, and can be attached to again", async () => {
      using stage = new DetachedStage(actor);
      const { planId, pid } = await stage.detach(
        'printf "begun\\033[c\\n"; read word; echo "got $word" | tee a.txt; stty size; exit 7',
      );
      assert.deepEqual([stage.shown().pid, stage.shown().command], [pid, "sh script"]);
      assert.equal(stage.inPlan("cat", "a.txt"), "one\n");
      for (const args of [
        ["plan", "exec", "work", "--detach", "--", "true"],
        ["plan", "cancel", "work"],
      ]) {
        const { status, stderr } = stage.drydock(args);
        assert.equal(status, 1, args.join(" "));
        assert.match(stderr, /'sh script' is running detached in the plan work .*\n {2}hint: Attach to it/);
      }
      const first = stage.attach();
      await first.until(() => first.stdout.includes("begun"));
      first.input(LEAVE);
      const left = await first.ended();
      assert.equal(left.status, 0);
      assert.match(left.stdout, new RegExp(`Left 'sh script', which goes on. .*drydock attach ${planId}`));
      // Without a name, the only plan in which one runs is meant.
      stage.done("plan", "create", "-r", stage.home, "--name", "beside");
      const both = [stage.attach(), stage.terminal(`stty rows 33 cols 77; ${program} attach`)];
      for (const each of both) await each.until(() => each.stdout.includes("begun"));
      both[1]?.input("word\r");
      for (const { status, stdout } of await Promise.all(both.map((each) => each.ended()))) {
        assert.equal(status, 7);
        assert.match(
          stdout,
          /got word[\s\S]*\n33 77\r[\s\S]*Kept as plan/,
          "the size is that of the last one",
        );
      }
      await gone(pid);
      assert.deepEqual([stage.shown().pid, stage.shown().exitCode], [undefined, 7]);
      const later = await stage.attach().ended();
      assert.equal(later.status, 7);
      assert.match(later.stdout, /begun\\u001b\[c\r+\n[\s\S]*got word/, "no terminal answers it");
      assert.match(stage.done("plan", "log", "work"), /detached .*sh script[\s\S]*executed .*exit code 7/);
      assert.deepEqual(stage.left, []);
      assert.equal(stage.read("project/a.txt"), "one\n");
    });

    it("[I11] listens only to those who have its key, and goes on whatever others say", async () => {
      using stage = new DetachedStage(actor);
      const { planId, pid } = await stage.detach("echo begun; exec sleep 1000");
      const socket = stage.socket(planId);
      const [exec = ""] = stage.left.flatMap((name) => name.split(`${planId}-`)[1] ?? []);
      const key = stage.read(`state/runs/${planId}/terminal.key`).trim();
      const hello = frame("hello", { key, exec });
      for (const frames of [
        [frame("hello", "null")],
        [frame("hello", { exec })],
        [frame("hello", { key: `${key}x`, exec })],
        [frame("hello", { key, exec, size: null })],
        [frame("stop", "")],
        [hello, frame("size", "null")],
        [hello, hello],
      ])
        await refused(socket, ...frames);
      const callers = await silent(socket, 80);
      const attached = stage.attach();
      await attached.until(() => callers.filter(({ closed }) => closed).length >= 16);
      await attached.until(() => attached.stdout.includes("begun"));
      stage.done("plan", "cancel", "work", "--force");
      await gone(pid);
      for (const caller of callers) if (!caller.closed) await once(caller, "close");
    });

    it("[I11] starts when the process that kept the one before it is gone", async () => {
      using stage = new DetachedStage(actor);
      const { planId, pid } = await stage.detach("echo two > a.txt");
      await gone(pid);
      await using before = createServer((socket) => socket.destroy());
      before.listen(stage.socket(planId));
      await once(before, "listening");
      chmodSync(stage.socket(planId), 0o777);
      const next = stage.start(["plan", "exec", "work", "--json", "--detach", ...BOUNDED, "--", "true"]);
      await once(before, "connection", { signal: AbortSignal.timeout(60_000) });
      before.close();
      const { status, stdout, stderr } = await next.ended();
      assert.equal(status, 0, stderr);
      await gone((JSON.parse(stdout) as Detached).pid);
      assert.deepEqual(stage.shown().exitCode, 0);
    });

    it("[I11] keeps the last of its output, waits for no client that does not read, and ends with its plan", async () => {
      using stage = new DetachedStage(actor);
      const { pid } = await stage.detach(
        "until [ -e go ]; do sleep 0.1; done; seq 1 600000; touch done; exec sleep 1000",
      );
      const slow = stage.start(["attach", "work"]);
      await slow.until(() => readFileSync(`/proc/${pid}/net/unix`, "latin1").includes("terminal.sock"));
      stage.inPlan("touch", "go");
      await slow.until(() => slow.stdout.startsWith("1\r\n2\r\n"));
      slow.signal("SIGSTOP");
      stage.inPlan("sh", "-c", "until [ -e done ]; do sleep 0.1; done");
      const late = stage.start(["attach", "work"]);
      await late.until(() => late.stdout.includes("\r\n600000\r\n"));
      assert.match(late.stdout, /^\r\n\[… \d{7} bytes left out …\]\r\n\d+\r\n/);
      assert.ok(late.stdout.length <= 256 * 1024 + 100, "the kept output is bounded");
      slow.signal("SIGCONT");
      await slow.until(() => slow.stdout.includes("\r\n600000\r\n"));
      const ended = Promise.all([slow.ended(), late.ended()]);
      stage.done("plan", "cancel", "work", "--force");
      const ends = await ended;
      assert.deepEqual(
        ends.map(({ status }) => status),
        [143, 143],
      );
      await gone(pid);
      assert.deepEqual(stage.left, []);
      assert.equal(stage.answer("plan", "list").plans.length, 0);
    });

    it("[I11] ends when the process that keeps it is killed, and its plan keeps the work", async () => {
      using stage = new DetachedStage(actor);
      const { planId, pid } = await stage.detach("echo two > a.txt; echo begun; exec sleep 1000");
      const attached = stage.attach();
      await attached.until(() => attached.stdout.includes("begun"));
      const [command = 0] = stage
        .answer("plan", "show", "work", "--places")
        .places.flatMap(({ kind, location }: { readonly kind: string; readonly location: string }) =>
          kind === "command" ? Number(/\d+/.exec(location)?.[0]) : [],
        );
      process.kill(pid, "SIGKILL");
      const { status, stdout } = await attached.ended();
      assert.deepEqual([status, /'sh script' was killed/.test(stdout)], [1, true], stdout);
      await gone(pid);
      await gone(command);
      assert.deepEqual(stage.shown().exitCode, undefined);
      assert.match(stage.done("plan", "show", planId), /detached +'sh script' was killed/);
      assert.equal(stage.drydock(["attach", "work"]).status, 1);
      assert.equal(stage.inPlan("cat", "a.txt"), "two\n");
      assert.doesNotMatch(readFileSync("/proc/mounts", "utf8"), new RegExp(planId));
      stage.done("plan", "cancel", "work");
      assert.deepEqual(stage.left, []);
    });

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

    it("[I11] is there as a whole or not at all when a process of ours dies", async () => {
      using stage = new DetachedStage(actor);
      const run = ["run", "--detach", "--name", "work", ...BOUNDED, "sleep", "1000"];
      const dying = (args: readonly string[], point: string) =>
        stage.drydock(args, { env: { DRYDOCK_FAILPOINT: `${point}=kill` } });
      dying(run, "detached.start");
      assert.equal(stage.answer("plan", "list").plans.length, 0);
      // The process that keeps the command dies here.
      const { status, stderr } = dying(run, "service.listen");
      assert.deepEqual([status, /was killed, and the command with it/.test(stderr)], [1, true], stderr);
      assert.match(stage.done("plan", "show", "work"), /'sleep 1000' was killed/);
      assert.deepEqual(stage.left, []);
      // It dies before what the command wrote is kept.
      const writes = ["sh", "-c", "echo two > a.txt; echo done"];
      dying(["plan", "exec", "work", "--detach", ...BOUNDED, "--", ...writes], "detached.output");
      await gone(stage.shown().pid ?? 0);
      assert.notEqual(stage.shown().state, "running");
      assert.ok(
        !existsSync(join(stage.state, "runs", stage.answer("plan", "show", "work").id, "terminal.output")),
      );
      assert.equal(stage.inPlan("cat", "a.txt"), "two\n");
      stage.done("plan", "exec", "work", "--detach", ...BOUNDED, "--", "sleep", "1000");
      dying(["attach", "work"], "detached.attach");
      dying(["plan", "cancel", "work", "--force"], "detached.stop");
      const { pid = 0 } = stage.shown();
      assert.ok(existsSync(`/proc/${pid}`));
      stage.done("plan", "cancel", "work", "--force");
      await gone(pid);
      assert.deepEqual(stage.left, []);
    });
  });
