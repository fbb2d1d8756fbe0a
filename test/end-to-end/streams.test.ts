import assert from "node:assert/strict";
import { constants, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Workplace } from "./workplace.ts";

const ESCAPE = "\u001b[";

/** A plan called "fix" over app/ with one line added to a file. */
function smallPlan(place: Workplace): void {
  place.folder("app", { "a.txt": "a\n" });
  place.done("plan", "create", "-r", "app", "--name", "fix");
  place.drydock(["plan", "write", "fix", "app", "a.txt"], { input: "a\nb\u001b[31m\n" });
}

/** Runs drydock with a terminal for stdin, stdout and stderr; returns what it shows. */
function onTerminal(place: Workplace, command: string, env: NodeJS.ProcessEnv = {}): string {
  const { status, stdout } = place.run("script", ["-qec", `"$DRYDOCK" ${command}`, "/dev/null"], {
    // A pager would add what it does to the terminal.
    env: { TERM: "xterm", DRYDOCK_PAGER: "cat", ...env },
  });
  assert.equal(status, 0, stdout);
  return stdout.replaceAll("\r\n", "\n");
}

describe("the streams of a command", () => {
  it("are coloured on a terminal only, and not with NO_COLOR or in CI", () => {
    using place = new Workplace();
    smallPlan(place);
    assert.ok(onTerminal(place, "plan diff").startsWith(`${ESCAPE}33mM${ESCAPE}39m  app/a.txt`));
    assert.ok(!onTerminal(place, "plan diff", { NO_COLOR: "1" }).includes(ESCAPE));
    assert.ok(!onTerminal(place, "plan diff", { CI: "true" }).includes(ESCAPE));
    assert.ok(!place.done("plan", "diff").includes(ESCAPE));
  });

  it("show a patch on a terminal with its content made harmless, and give it to a program as it is", () => {
    using place = new Workplace();
    smallPlan(place);
    assert.ok(onTerminal(place, "plan diff --patch").includes(`${ESCAPE}32m+b\\u001b[31m${ESCAPE}39m\n`));
    assert.ok(place.done("plan", "diff", "--patch").includes("\n+b\u001b[31m\n"));
    const applied = place.shell('"$DRYDOCK" plan diff --patch | (cd app && git apply)');
    assert.deepEqual([applied.status, place.read("app/a.txt")], [0, "a\nb\u001b[31m\n"], applied.stderr);
  });

  it("show a person more than the id of a new plan, and lay JSON out", () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "a\n" });
    assert.match(
      onTerminal(place, "plan create -r app", { NO_COLOR: "1" }),
      /^[0-9A-Z]{26}\napp\n {2}original {2}/,
    );
    assert.match(onTerminal(place, "plan list --json"), /^\{\n {2}"plans": \[\n/);
  });

  it("are as they were when it has ended: the next reader of its input waits for what comes", () => {
    using place = new Workplace();
    smallPlan(place);
    const { stdout } = place.shell(
      'echo new | { "$DRYDOCK" plan write fix app a.txt; grep ^flags /proc/self/fdinfo/0; }',
    );
    const flags = /^flags:\s+([0-7]+)$/m.exec(stdout)?.[1] ?? assert.fail(stdout);
    assert.equal(Number.parseInt(flags, 8) & constants.O_NONBLOCK, 0);
  });

  it("show progress on a terminal, and leave nothing of it", () => {
    using place = new Workplace();
    mkdirSync(join(place.path, "big"));
    for (let number = 0; number < 400; number += 1)
      writeFileSync(join(place.path, "big", `${number}`), "x\n");
    const slow = {
      DRYDOCK_FAILPOINT: [100, 200, 300, 350, 360, 370, 380, 390]
        .map((nth) => `copy.create-file:${nth}=delay`)
        .join(","),
    };
    const shown = onTerminal(place, "plan create -r big,strategy=filesystem_copy", slow);
    assert.match(shown, /\r\u001b\[K\w+ (?:\[[= ]{24}\] )?\d+/);
    assert.match(shown, /\r\u001b\[K[0-9A-Z]{26}\n/);
    place.done("plan", "cancel");
    assert.equal(
      place.drydock(["plan", "create", "-r", "big,strategy=filesystem_copy"], { env: slow }).stderr,
      "",
    );
  });

  it("may lose their reader, and nobody is bothered", () => {
    using place = new Workplace();
    mkdirSync(join(place.path, "big"));
    place.done("plan", "create", "-r", "big", "--name", "fix");
    const sandbox = place.done("plan", "path").trimEnd();
    for (let number = 0; number < 1500; number += 1)
      writeFileSync(join(sandbox, `${number}-${"x".repeat(60)}`), "x\n");
    for (const how of ["", "--json", "--patch", "--stat", "--name-only"]) {
      const { stdout, stderr } = place.shell(
        `"$DRYDOCK" plan diff ${how} | head -c 10 | wc -c; echo "\${PIPESTATUS[0]}"`,
      );
      assert.deepEqual({ stdout: stdout.trim(), stderr }, { stdout: "10\n0", stderr: "" }, how);
    }
    assert.equal(place.shell('"$DRYDOCK" plan apply 2>&- >&-').status, 0);
    assert.equal(place.answer("plan", "show", "fix").state, "applied");
  });

  it("say so when what a command printed is lost", () => {
    using place = new Workplace();
    const { status, stderr } = place.shell('"$DRYDOCK" plan list > /dev/full');
    assert.equal(status, 1);
    assert.match(stderr, /^error: The command is done, but its output is lost: .*ENOSPC.*\n {2}hint: .*\n$/);
  });

  it("wait for a reader that is slow, even on a pipe that somebody made non-blocking", () => {
    using place = new Workplace();
    mkdirSync(join(place.path, "big"));
    place.done("plan", "create", "-r", "big", "--name", "fix");
    const sandbox = place.done("plan", "path").trimEnd();
    for (let number = 0; number < 800; number += 1)
      writeFileSync(join(sandbox, `${number}-${"x".repeat(80)}`), "x\n");
    const reader = place.write(
      "reader.mjs",
      `import { spawn } from "node:child_process";
       const child = spawn(process.env.DRYDOCK, ["plan", "diff", "--json"], { stdio: ["ignore", "pipe", "inherit"] });
       let text = "";
       for await (const part of child.stdout) { text += part; await new Promise((resolve) => setTimeout(resolve, 5)); }
       console.log(JSON.parse(text).changes.length);`,
    );
    assert.equal(place.run(process.execPath, [reader]).stdout, "800\n");
  });
});
