import assert from "node:assert/strict";
import { once } from "node:events";
import { chmodSync, existsSync, readFileSync } from "node:fs";
import { connect, createServer, type Socket } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { frame } from "../../src/run/detached/detached-protocol.ts";
import { program } from "../end-to-end/workplace.ts";
import { BOUNDED, type Detached, DetachedStage, gone } from "./detached-stage.ts";
import { ANY_ACTOR } from "./stage.ts";

const LEAVE = "\x1c";

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

    it("[I11] goes on when a reader of its output goes, which is no failure", async () => {
      using stage = new DetachedStage(actor);
      const { pid } = await stage.detach("while :; do echo line; sleep 0.05; done");
      const script = `set -o pipefail; ${program} attach work | head -1; echo "code $?"`;
      const { stdout } = await stage.terminal(`bash -c '${script}'`).endedWithin(60);
      assert.match(stdout, /^line\r*\n[\s\S]*Left 'sh script', which goes on[\s\S]*code 0\r\n$/m);
      assert.deepEqual([stage.shown().state, stage.shown().pid], ["running", pid]);
      stage.done("plan", "cancel", "work", "--force");
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
