import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { childrenOf } from "../../src/system/process/processes.ts";
import { program, type Running } from "../end-to-end/workplace.ts";
import { FAILPOINT_NAMES } from "../failpoint-names.ts";
import { IS_LONG } from "../support/long-form.ts";
import { end, goesOn, standsStill } from "./running-command.ts";
import { ACTORS, type Actor, ANY_ACTOR, Stage } from "./stage.ts";

/**
 * Counts in two files, `a` before `z`, each replaced as a whole by a process of its own, and says each
 * number. There are enough other files that saving takes longer than counting once.
 */
const COUNT = `for n in $(seq 200); do echo $n > between-$n; done
i=0
while :; do
  i=$((i + 1))
  for name in a z; do echo $i > .$name && mv .$name $name; done
  echo $i
  sleep 0.02
done`;

/** Looks for the state directory by the root and the folder of every process, and names each shell. */
function lookOut(state: string): string {
  return `while :; do
    for process in /proc/[0-9]*; do
      for link in root cwd; do ls $process/$link${state}/ 2>&- && echo out by $link; done
      [ "$(cat $process/comm)" = sh ] && echo "shell: $(readlink $process/root || echo no root)"
    done
    sleep 0.05
  done`;
}

/** A shell that waits for a job in the foreground of its terminal, as at a prompt. */
const JOBS = `set -m
sh -c 'echo up; until [ -e go ]; do sleep 0.01; done'
echo "it ended with $?"`;

const CASES: readonly (readonly [Actor, string])[] = ACTORS.flatMap((actor) => {
  const copies = IS_LONG ? ["filesystem_copy", "copy_on_write"] : actor === "user" ? ["filesystem_copy"] : [];
  return ["overlay", ...copies].map((strategy) => [actor, strategy] as const);
});

const POINTS = FAILPOINT_NAMES.filter((name) => name.startsWith("hold."));

/** A plan over the project, in which a command counts. */
async function counting(stage: Stage, strategy: string) {
  const plan = stage.done("plan", "create", "-r", `${stage.project},strategy=${strategy}`).trim();
  const command = stage.start(["plan", "exec", plan, "--", "sh", "-c", COUNT]);
  await goesOn(command);
  return { plan, command };
}

/** Ends the process inside that wakes the others, as a command could. */
function endGuardOf(drydock: Running): void {
  const [entering = 0] = childrenOf(drydock.pid ?? 0);
  const [guard = 0] = childrenOf(entering);
  process.kill(guard, "SIGKILL");
}

/** Ends the first process of a command's namespaces, and so all in them. */
function endNamespaceOf(drydock: Running): void {
  const below = (pid: number): readonly number[] => [pid, ...childrenOf(pid).flatMap(below)];
  const first = below(drydock.pid ?? 0).find((pid) =>
    /^NSpid:.*\t1$/m.test(readFileSync(`/proc/${pid}/status`, "latin1")),
  );
  assert.ok(first);
  process.kill(first, "SIGKILL");
}

describe("Commands of a plan stand still while it is worked on", () => {
  for (const [actor, strategy] of CASES) {
    it(`[I8] as ${actor}, with ${strategy}: a checkpoint has every write before it and none after`, async () => {
      using stage = new Stage(actor);
      const { plan, command } = await counting(stage, strategy);
      const saved: { readonly id: string; readonly said: number }[] = [];
      for (let round = 0; round < 2; round += 1) {
        const said = Number(command.stdout.trim().split("\n").at(-1));
        saved.unshift({ id: stage.answer("plan", "checkpoint", plan).id, said });
        await goesOn(command);
      }
      await end(command);
      for (const { id, said } of saved) {
        stage.done("plan", "restore", plan, id);
        const read = (name: string) => Number(stage.done("plan", "read", plan, "project", name));
        const [first, last] = [read("a"), read("z")];
        assert.ok(first === last || first === last + 1, `${first} and ${last}`);
        assert.ok(first >= said, `${first} is from before ${said}`);
      }
      stage.done("plan", "cancel", plan);
    });
  }

  for (const actor of ANY_ACTOR) {
    it(`[I9] as ${actor}: they go on when Drydock is killed at any step, fails or is interrupted, and when their guard is killed`, async () => {
      using stage = new Stage(actor);
      const { plan, command } = await counting(stage, "filesystem_copy");
      const checkpoint = ["plan", "checkpoint", plan];
      for (const point of POINTS) {
        const killed = stage.drydock(checkpoint, { env: { DRYDOCK_FAILPOINT: `${point}=kill` } });
        assert.equal(killed.status, null, `it was not killed at ${point}`);
        await goesOn(command);
      }
      for (const [point, expected] of [
        ["hold.stop:1", 1],
        ["checkpoint.finish:1", 0],
      ] as const) {
        const held = stage.start(checkpoint, { DRYDOCK_FAILPOINT: `${point}=stop` });
        await held.stopped();
        endGuardOf(held);
        held.signal("SIGCONT");
        const { status, stderr } = await held.ended();
        assert.equal(status, expected, stderr);
        await goesOn(command);
      }
      const failed = stage.drydock(checkpoint, { env: { DRYDOCK_FAILPOINT: "checkpoint.finish=error" } });
      assert.notEqual(failed.status, 0);
      await goesOn(command);
      const held = stage.start(checkpoint, { DRYDOCK_FAILPOINT: "checkpoint.finish:1=stop" });
      await held.stopped();
      await standsStill(command);
      held.signal("SIGINT", "SIGCONT");
      await held.ended();
      await goesOn(command);
      stage.done(...checkpoint);
      await end(command);
      stage.done("plan", "cancel", plan);
    });
  }

  for (const actor of ANY_ACTOR) {
    it(`as ${actor}: a command that ends in that very moment stands still for ever, and the work goes on`, async () => {
      using stage = new Stage(actor);
      const plan = stage.done("plan", "create", "-r", `${stage.project},strategy=filesystem_copy`).trim();
      const started = async () => {
        const command = stage.start([
          "plan",
          "exec",
          plan,
          "--",
          "sh",
          "-c",
          "date +%N >new; echo up; read line",
        ]);
        await command.until(() => command.stdout === "up\n");
        return command;
      };
      const heldAt = async (point: string) => {
        const held = stage.start(["plan", "checkpoint", plan], { DRYDOCK_FAILPOINT: `${point}:1=stop` });
        await held.stopped();
        return held;
      };
      // Before its namespace is entered, before it is stopped, and while it stands still.
      for (const point of ["hold.guard", "hold.stop", "checkpoint.finish"]) {
        const command = await started();
        const held = await heldAt(point);
        endNamespaceOf(command);
        held.signal("SIGCONT");
        const { status, stderr } = await held.ended();
        assert.deepEqual({ point, status, stderr }, { point, status: 0, stderr: "" });
        await command.ended();
      }
      // The second one, before its turn, while the first one lives on.
      const [first, second] = [await started(), await started()];
      const held = await heldAt("hold.guard");
      endNamespaceOf(second);
      held.signal("SIGCONT");
      const { status, stderr } = await held.ended();
      assert.deepEqual({ status, stderr }, { status: 0, stderr: "" });
      first.input("\n");
      assert.equal((await first.ended()).status, 0);
      await second.ended();
      stage.done("plan", "cancel", plan);
    });
  }

  for (const actor of ACTORS) {
    it(`[X7] as ${actor}: the process that stops them leads none of them out of its view`, async () => {
      using stage = new Stage(actor);
      const plan = stage.done("plan", "create", "-r", `${stage.project},strategy=filesystem_copy`).trim();
      const command = stage.start(["plan", "exec", plan, "--", "sh", "-c", lookOut(stage.state)]);
      await command.until(() => command.stdout.includes("shell: /\n"));
      const held = stage.start(["plan", "checkpoint", plan], { DRYDOCK_FAILPOINT: "hold.stop:1=stop" });
      await held.stopped();
      await command.until(() => command.stdout.includes("shell: no root\n"));
      await goesOn(command);
      held.signal("SIGCONT");
      assert.equal((await held.ended()).status, 0);
      assert.doesNotMatch(command.stdout, /out by/);
      await end(command);
      stage.done("plan", "cancel", plan);
    });
  }

  for (const actor of ANY_ACTOR) {
    it(`as ${actor}: each of several commands stands still, and what a user had stopped stays stopped`, async () => {
      using stage = new Stage(actor);
      const { plan, command } = await counting(stage, "overlay");
      const job = `sleep 1000 & kill -STOP $!; echo up; read line; cut -d' ' -f3 /proc/$!/stat; kill -9 $!`;
      const other = stage.start(["plan", "exec", plan, "--", "sh", "-c", job]);
      await other.until(() => other.stdout === "up\n");
      const held = stage.start(["plan", "checkpoint", plan], {
        DRYDOCK_FAILPOINT: "checkpoint.finish:1=stop",
      });
      await held.stopped();
      await standsStill(command);
      other.input("\n");
      await standsStill(other);
      const ended = Promise.all([held.ended(), other.ended()]);
      held.signal("SIGCONT");
      const [{ status }, { stdout }] = await ended;
      assert.deepEqual({ status, stdout }, { status: 0, stdout: "up\nT\n" });
      await goesOn(command);
      await end(command);
      stage.done("plan", "cancel", plan);
    });

    it(`as ${actor}: what the strategy can't do meanwhile is refused, and no command stops for it`, async () => {
      using stage = new Stage(actor);
      stage.give();
      stage.run("git", ["init", "-q"]);
      const { plan, command } = await counting(stage, "overlay");
      const { status, stderr } = stage.drydock(["plan", "apply", plan]);
      assert.equal(status, 1, stderr);
      assert.match(stderr, /is running in the plan .*, and project can't land meanwhile\./);
      await goesOn(command);
      await end(command);
      stage.done("plan", "cancel", plan);
    });

    it(`as ${actor}: a command at a terminal does not look stopped to Drydock or to a shell with jobs`, async () => {
      using stage = new Stage(actor);
      stage.write("project/jobs", JOBS);
      const plan = stage.done("plan", "create", "-r", stage.project).trim();
      const terminal = stage.terminal(`${program} plan exec ${plan} -- bash jobs`);
      await terminal.until(() => terminal.stdout.includes("up"));
      for (let round = 0; round < 3; round += 1) stage.done("plan", "checkpoint", plan);
      stage.drydock(["plan", "write", plan, "project", "go"], { input: "" });
      await terminal.until(() => terminal.stdout.includes("it ended with 0"));
      await terminal.ended();
      stage.done("plan", "cancel", plan);
    });
  }
});
