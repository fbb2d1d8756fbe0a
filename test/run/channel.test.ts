import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { failedWith } from "../../src/system/calls/errno.ts";
import { childrenOf } from "../../src/system/process/processes.ts";
import type { Running } from "../end-to-end/workplace.ts";
import { writeCaller } from "./channel-caller.ts";
import { ACTORS, ANY_ACTOR, Stage } from "./stage.ts";
import { WalledStage } from "./walled-stage.ts";

/** Looks, saves and asks, by every operation of the channel. */
const EVERYTHING = `const fs = require("node:fs");
fs.writeFileSync("a.txt", "two\\n");
const saved = await ask("POST", "/v1/plan/checkpoints", { label: "first" });
return {
  saved: saved.body,
  plan: await ask("GET", "/v1/plan"),
  diff: await ask("GET", "/v1/plan/diff?paths=a.txt"),
  patch: await ask("GET", "/v1/plan/patch?paths=a.txt"),
  checkpoints: await ask("GET", "/v1/plan/checkpoints"),
  sql: await ask("POST", "/v1/plan/sql", { script: "SELECT 1" }),
  none: await ask("POST", "/v1/plan/checkpoints/none/restore", {}),
  comment: await ask("POST", "/v1/plan/review/comments", { text: "look here", resource: "project", path: "a.txt" }),
  asked: await ask("POST", "/v1/plan/review", { message: "is this right?" }),
  review: await ask("GET", "/v1/plan/review"),
  document: await ask("GET", "/v1/openapi.json"),
};`;

/** The process that answers the commands of a Drydock, if it was started. */
function answering({ pid = 0 }: Running): number | undefined {
  return childrenOf(pid).find((child) => /\/channel(?:-main)?\.[jt]s\0/.test(fileOf(child, "cmdline")));
}

/** What a file of /proc says about a process; nothing if that is gone. */
function fileOf(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "latin1");
  } catch (thrown) {
    if (failedWith(thrown, "ENOENT", "ESRCH")) return "";
    throw thrown;
  }
}

function stateOf(pid: number): string {
  const state = /\) (\w) /.exec(fileOf(pid, "stat"))?.[1] ?? "gone";
  return state === "Z" ? "gone" : state;
}

/** The callers of a stage that are running. */
function callersOf({ home }: Stage): readonly number[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.map(Number).filter((pid) => {
    const [first, second] = fileOf(pid, "cmdline").split("\0");
    return first === process.execPath && second === `${home}/caller.cjs`;
  });
}

for (const actor of ACTORS) {
  describe(`The channel of a command of ${actor}`, () => {
    it("[I10] lets it look at its plan, save it and ask, and the history says so", () => {
      using stage = new Stage(actor);
      const caller = writeCaller(stage, EVERYTHING);
      const plan = stage.done("plan", "create", "-r", stage.project).trim();
      const said = JSON.parse(stage.done("plan", "exec", plan, "--", ...caller));
      assert.equal(said.plan.body.id, plan);
      assert.deepEqual(
        said.diff.body.changes.map(({ path }: { path: string }) => path),
        ["a.txt"],
      );
      assert.match(said.patch.text, /^\+two$/m);
      assert.deepEqual(said.checkpoints.body.checkpoints.at(-1).label, "first");
      assert.equal(said.sql.body.code, "NO_QUERY");
      assert.equal(said.none.body.code, "UNKNOWN_CHECKPOINT");
      assert.equal(said.asked.body.planId, plan);
      const [comment] = said.review.body.comments;
      assert.equal(comment.text, "look here");
      assert.equal(comment.via, "inside");
      assert.match(comment.actor, /^[^@]+@[^ ]+ \(inside\)$/);
      assert.equal(said.review.body.asked.message, "is this right?");
      assert.ok("/v1/plan/checkpoints/{checkpoint}/restore" in said.document.body.paths);
      const { entries } = stage.answer("plan", "log", plan);
      const byCommand = entries
        .filter((entry: { actor: string }) => entry.actor.endsWith(" (inside)"))
        .map((entry: { event: string }) => entry.event);
      assert.deepEqual(
        byCommand.filter((event: string) => event !== "sealed"),
        ["checkpoint", "commented", "review asked"],
      );
      stage.done("plan", "restore", plan, said.saved.id);
      assert.equal(stage.done("plan", "read", plan, "project", "a.txt"), "two\n");
      stage.done("plan", "cancel", plan);
    });
  });
}

for (const actor of ANY_ACTOR) {
  describe(`The process that answers a command of ${actor}`, () => {
    it("[I10] makes its caller stand still for a checkpoint, and answers when it goes on", async () => {
      using stage = new Stage(actor);
      const script = `console.log("asks", process.pid);
        const { status } = await ask("POST", "/v1/plan/checkpoints", {});
        return status;`;
      const run = ["run", "--discard", "--", ...writeCaller(stage, script)];
      const running = stage.start(run, { DRYDOCK_FAILPOINT: "hold.wake:1=stop" });
      await running.until(() => stateOf(answering(running) ?? 0) === "T");
      const answers = answering(running) ?? 0;
      assert.deepEqual(callersOf(stage).map(stateOf), ["T"]);
      process.kill(answers, "SIGCONT");
      assert.equal((await running.ended()).status, 0);
      assert.match(running.stdout, /^asks \d+\n201\n/);
    });

    it("[I10] is started for the first caller, and ends with the command and with Drydock", async () => {
      using stage = new Stage(actor);
      const waits = `await ask("GET", "/v1/plan");
        console.log("up");
        process.stdin.once("data", () => process.exit());
        await new Promise(() => {});`;
      const run = ["run", "--discard", "--", ...writeCaller(stage, waits)];
      const quiet = stage.start(["run", "--discard", "--", "sh", "-c", "echo up; read end"]);
      await quiet.until(() => quiet.stdout === "up\n");
      assert.equal(answering(quiet), undefined);
      quiet.input("end\n");
      await quiet.ended();
      for (const end of ["by itself", "killed"]) {
        const running = stage.start(run);
        await running.until(() => running.stdout === "up\n");
        const answers = answering(running) ?? 0;
        assert.notEqual(answers, 0);
        if (end === "killed") running.signal("SIGKILL");
        else running.input("end\n");
        await running.ended();
        for (let tries = 0; stateOf(answers) !== "gone"; tries += 1) {
          assert.ok(tries < 6000, "it goes on");
          await new Promise((resolve) => setTimeout(resolve, 10));
        }
      }
      const killed = stage.drydock(run, { env: { DRYDOCK_FAILPOINT: "channel.start=kill" } });
      assert.equal(killed.status, null);
      assert.deepEqual(callersOf(stage), []);
    });

    it("[I10] is what the drydock command inside uses by itself, and it says whom to ask for the rest", () => {
      using stage = new Stage(actor);
      const event = `{"hook_event_name":"Stop","cwd":"'"$PWD"'"}`;
      const refused = [
        ...["review --comment x --on b.txt", "plan restore none", "plan show other", "plan apply"],
        ...["approve --digest x", "run -- true", "plan log", "review", "review --tty"],
      ];
      const script = `echo two > a.txt
        "$DRYDOCK" plan show | head -1; "$DRYDOCK" plan diff --name-only "$DRYDOCK_PLAN"; "$DRYDOCK" plan diff -p | tail -1
        "$DRYDOCK" plan checkpoint --label mine | cut -d" " -f1,2; echo '${event}' | "$DRYDOCK" hook
        "$DRYDOCK" plan checkpoints --json
        "$DRYDOCK" review --comment "why two?" --on a.txt:1 --json; "$DRYDOCK" review --request -m ready --json
        "$DRYDOCK" plan show --json
        for words in ${refused.map((words) => `"${words}"`).join(" ")}; do
          "$DRYDOCK" $words; echo "$words: $?"
        done
        "$DRYDOCK" plan list --state-dir ~/state; DRYDOCK_STATE_DIR=~/state "$DRYDOCK" plan list --json`;
      const { status, stdout, stderr } = stage.inside(script);
      assert.equal(status, 0, stderr);
      const [plan = "", ...lines] = stdout.split("\n");
      assert.match(plan, /^id +01\w+$/);
      const [{ checkpoints }, comment, asked, shown] = lines.splice(3, 4).map((line) => JSON.parse(line));
      assert.deepEqual(
        checkpoints.map(({ label }: { label: string }) => label),
        ["mine", "turn 1"],
      );
      const { id, actor: by, at, digest, ...said } = comment;
      assert.deepEqual(said, {
        text: "why two?",
        resource: "project",
        path: "a.txt",
        line: 1,
        via: "inside",
      });
      assert.match(digest, /^[0-9a-f]{64}$/);
      assert.match(by, /^[^@]+@[^ ]+ \(inside\)$/);
      assert.deepEqual([asked.planId, shown.review], [shown.id, "asked"]);
      assert.deepEqual(lines, [
        ...["project/a.txt", "+two", "Saved checkpoint", ...refused.map((words) => `${words}: 2`)],
        ...["There are no plans. Make one with 'drydock plan create'.", '{"plans":[]}', ""],
      ]);
      const hints = stderr.split("\n").filter((line) => line.startsWith("  hint: "));
      assert.deepEqual(
        hints.map((line) => line.includes("Ask the person outside.")),
        refused.map((_, index) => index > 1),
      );
    });

    it("[I10] is not there if a policy says so, and --explain says which line", () => {
      using stage = new Stage(actor);
      stage.write("home/.config/drydock/config.yaml", "run:\n  channel: false\n");
      stage.give();
      const script = 'echo "$DRYDOCK_SOCKET"; ls -A /dev/drydock';
      assert.equal(stage.insideDone(script), "\n");
      const explained = JSON.parse(stage.done("run", "--explain", "--json", "--", "true"));
      assert.equal(explained.channel, false);
      assert.match(explained.channelFrom, /config\.yaml:2:3$/);
    });
  });
}

describe("A command without namespaces", () => {
  it("has no channel, and no variable that names one", () => {
    using stage = new WalledStage("user");
    assert.equal(stage.insideDone('echo "$DRYDOCK_SOCKET"'), "\n");
  });
});
