import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { setTimeout } from "node:timers/promises";
import { type DetachedCommand, type Drydock, openDrydock, type Plan } from "../../src/index.ts";
import { PACKAGE_FLAGS } from "../end-to-end/workplace.ts";
import { endProcessesOf } from "../support/end-processes.ts";
import { removeFolder } from "../support/remove-folder.ts";

const PROGRAM = join(import.meta.dirname, "detached-program.ts");
/** If the test itself is killed, its commands end all the same. */
const BOUNDED = { limits: { time: 300_000 } };

/** A folder with an original and a state directory. What still runs in there ends with it. */
class Scene implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "drydock-detached-")));
  readonly stateDir = join(this.path, "state");
  readonly original = join(this.path, "app");

  constructor() {
    mkdirSync(this.original);
    writeFileSync(join(this.original, "file"), "old\n");
  }

  async open(): Promise<Drydock> {
    return await openDrydock({ stateDir: this.stateDir, cwd: this.path });
  }

  async plan(drydock: Drydock): Promise<Plan> {
    return await drydock.plans.create({ resources: [{ location: this.original }] });
  }

  /** Starts a script from a program that is killed as soon as the script runs. */
  async detachAndDie(script: string): Promise<string> {
    const args = [...PACKAGE_FLAGS, PROGRAM, this.stateDir, this.original, script];
    const child = spawn(process.execPath, args, { cwd: this.path, stdio: ["ignore", "pipe", "inherit"] });
    try {
      const [line] = (await once(createInterface(child.stdout), "line")) as [string];
      return line;
    } finally {
      const ended = once(child, "exit");
      child.kill("SIGKILL");
      await ended;
    }
  }

  [Symbol.dispose](): void {
    endProcessesOf(this.path);
    removeFolder(this.path);
  }
}

/** The output from here on, once it has this in it. */
async function outputWith(command: DetachedCommand, wanted: string, from = 0) {
  for (let tries = 0; tries < 3000; tries += 1) {
    const output = await command.output({ from });
    if (output.text.includes(wanted)) return output;
    await setTimeout(20);
  }
  return assert.fail(`it never wrote ${wanted}`);
}

async function gone(pid = 0): Promise<void> {
  for (let tries = 0; existsSync(`/proc/${pid}`); tries += 1) {
    assert.ok(tries < 3000, `${pid} never ended`);
    await setTimeout(20);
  }
}

describe("A detached command of a program", () => {
  it("[I11] goes on when the program is killed, and another one finds it, reads, types, and waits for its end", async () => {
    using scene = new Scene();
    const planId = await scene.detachAndDie(
      "echo begun; stty size; read word; echo got $word | tee file; stty size; exit 7",
    );
    await using drydock = await scene.open();
    const plan = await drydock.plans.open(planId);
    const [command, ...others] = await plan.commands();
    assert.ok(command !== undefined && others.length === 0);
    const shown = await command.show();
    assert.deepEqual([shown.exec, shown.state, shown.exitCode], [command.exec, "running", undefined]);
    const { text, next, from, omitted } = await outputWith(command, "10 40");
    assert.deepEqual([text, from, omitted], ["begun\r\n10 40\r\n", 0, 0]);
    assert.equal((await command.output({ last: 7 })).text, "10 40\r\n");
    await assert.rejects(command.ended({ signal: AbortSignal.timeout(50) }), { code: "INTERRUPTED" });
    await command.resize({ rows: 33, columns: 77 });
    await command.write("word\n");
    const ended = await command.ended();
    assert.deepEqual([ended.state, ended.exitCode, ended.pid], ["ended", 7, undefined]);
    assert.equal((await command.output({ from: next })).text, "word\r\ngot word\r\n33 77\r\n");
    assert.equal((await command.output({ from: 1000 })).text, "");
    assert.deepEqual(await plan.commands(), []);
    assert.deepEqual(await (await plan.command()).show(), ended);
    assert.deepEqual((await plan.show()).detached, ended);
    await assert.rejects(command.write("more\n"), { code: "NO_SUCH_COMMAND", message: /exit code 7/ });
    assert.deepEqual(await command.end(), ended, "one that has ended stays as it is");
    assert.equal(new TextDecoder().decode(await plan.read("file")), "got word\n");
    assert.equal(readFileSync(join(scene.original, "file"), "utf8"), "old\n");
  });

  it("[I11] has the last of its output, marked as cut, while it runs, after its end, and when another one followed", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const plan = await scene.plan(drydock);
    const command = await plan.detach({ command: ["sh", "-c", "seq 1 100000; exec sleep 1000"], ...BOUNDED });
    const last = await outputWith(command, "\n100000\r\n");
    const total = Array.from({ length: 100_000 }, (_, at) => `${at + 1}\r\n`).join("");
    assert.deepEqual(
      [last.next, last.omitted, last.from],
      [total.length, total.length - 262_144, last.omitted],
    );
    assert.ok(last.text === total.slice(-262_144));
    const part = await command.output({ from: 100 });
    assert.deepEqual([part.from, part.omitted], [last.from, last.from - 100]);
    assert.equal((await command.output({ from: last.next - 8 })).text, "100000\r\n");
    assert.equal((await command.output({ last: 8 })).text, "100000\r\n");
    const ended = await command.end();
    assert.deepEqual([ended.state, ended.aborted, ended.signal], ["ended", true, "SIGTERM"]);
    const after = await command.output();
    assert.deepEqual([after.omitted, after.isExcerpt], [after.next - 262_144, undefined]);
    assert.ok(after.text.startsWith(last.text.slice(after.from - last.from)), "all that there was");
    assert.equal((await command.output({ last: after.next - last.next + 8 })).text.slice(0, 8), "100000\r\n");
    const next = await plan.detach({ command: ["true"], ...BOUNDED });
    assert.equal((await next.ended()).exitCode, 0);
    const left = await command.output({ last: 8 });
    assert.equal(left.isExcerpt, true);
    assert.match(left.text, /^1\r\n2\r\n[\s\S]*\n\[… \d+ bytes left out …\]\n[\s\S]*\n100000\r\n/);
    assert.deepEqual(await (await plan.command(command.exec)).show(), ended, "found by its id");
  });

  it("[I11] ends with its plan, which is cancelled by force only", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const plan = await scene.plan(drydock);
    const command = await plan.detach({
      command: ["sh", "-c", "trap '' TERM; echo two > file; echo begun; while :; do sleep 0.1; done"],
      ...BOUNDED,
    });
    await outputWith(command, "begun");
    const { pid } = await command.show();
    await assert.rejects(plan.cancel(), { code: "BUSY", message: /is running detached/ });
    const waiting = command.ended();
    assert.equal((await plan.cancel({ force: true })).state, "cancelled");
    const { state, aborted, exitCode } = await waiting;
    assert.deepEqual([state, aborted, exitCode], ["ended", true, 137], "it did not listen to SIGTERM");
    await gone(pid);
    assert.match((await command.output()).text, /begun/, "the history has it");
    assert.equal(readFileSync(join(scene.original, "file"), "utf8"), "old\n");
  });

  it("[I11] is told as killed when the process that keeps it is, and its plan keeps the work", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const plan = await scene.plan(drydock);
    const script = "echo two > file; echo begun; exec sleep 1000";
    const command = await plan.detach({ command: ["sh", "-c", script], ...BOUNDED });
    await outputWith(command, "begun");
    const { pid = 0 } = await command.show();
    process.kill(pid, "SIGKILL");
    const { state, exitCode } = await command.ended();
    assert.deepEqual([state, exitCode, await plan.commands()], ["killed", undefined, []]);
    assert.equal((await command.output()).text, "", "nothing kept it");
    await assert.rejects(command.write("x"), { code: "NO_SUCH_COMMAND", message: /was killed/ });
    assert.equal(new TextDecoder().decode(await plan.read("file")), "two\n");
    await plan.cancel();
  });

  it("[I11] is refused with the reason where it can't start, and wrong arguments change nothing", async () => {
    using scene = new Scene();
    await using drydock = await scene.open();
    const readOnly = await drydock.plans.create({
      resources: [{ location: scene.original }],
      readOnly: true,
    });
    await assert.rejects(readOnly.detach({ command: ["true"] }), { code: "READ_ONLY" });
    const plan = await scene.plan(drydock);
    await assert.rejects(plan.detach({ command: [] }), {
      code: "USAGE",
      message: "There is no command to run.",
    });
    await assert.rejects(plan.detach({ command: ["true"], terminal: { rows: 0, columns: 80 } }), {
      code: "BAD_ARGUMENT",
    });
    await assert.rejects(plan.detach({ command: ["true"], publish: ["99999"] }), { name: "UsageError" });
    await assert.rejects(plan.detach({ command: ["true"], nonsense: 1 } as never), { code: "BAD_ARGUMENT" });
    await assert.rejects(plan.detach({ command: ["true"], signal: AbortSignal.abort() }), {
      code: "INTERRUPTED",
    });
    await assert.rejects(plan.command(), { code: "NO_SUCH_COMMAND", message: /had no detached command\.$/ });
    assert.deepEqual(await plan.commands(), []);
    const command = await plan.detach({ command: ["sleep", "1000"], ...BOUNDED });
    const second = plan.detach({ command: ["true"] });
    await assert.rejects(second, { name: "BusyError", message: /a plan has only one such command/ });
    await assert.rejects(plan.command("other"), { code: "NO_SUCH_COMMAND", message: /other/ });
    await assert.rejects(command.output({ from: 1, last: 1 }), { code: "BAD_ARGUMENT" });
    await assert.rejects(command.output({ from: 0.5 }), { code: "BAD_ARGUMENT" });
    await assert.rejects(command.resize({ rows: 1, columns: 70_000 }), { code: "BAD_ARGUMENT" });
    await assert.rejects(command.write(7 as never), { code: "BAD_ARGUMENT" });
    assert.equal((await command.show()).state, "running");
    await plan.cancel({ force: true });
    const missing = await readOnly.commands();
    assert.deepEqual(missing, []);
  });
});
