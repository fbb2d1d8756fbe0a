import assert from "node:assert/strict";
import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused, Workplace } from "./workplace.ts";

const { version } = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"));

describe("what the command line says of itself and the machine", () => {
  it("is its version, as text and as JSON", () => {
    using place = new Workplace();
    assert.equal(place.done("--version"), `${version}\n`);
    assert.equal(place.done("-V"), `${version}\n`);
    assert.deepEqual(place.answer("--version"), { version });
    assert.equal(place.done("version"), `${version}\n`);
    assert.deepEqual(place.answer("version"), { version });
  });

  it("is help for every command, wherever it is asked for", () => {
    using place = new Workplace();
    const help = place.done("--help");
    assert.match(help, /^Usage: drydock \[options\] COMMAND\n/);
    assert.equal(place.done(), help);
    const groups = [...help.matchAll(/^ {2}([a-z][a-z-]+) {2,}\S/gm)].map(([, name = ""]) => name);
    assert.deepEqual(groups, [
      "run",
      "shell",
      "attach",
      "status",
      "diff",
      "apply",
      "undo",
      "list",
      "review",
      "approve",
      "plan",
      "recover",
      "cleanup",
      "host",
      "strategy",
      "resource-type",
      "doctor",
      "serve",
      "mcp",
      "acp",
      "hook",
      "init",
      "trust",
      "completion",
      "version",
    ]);
    const commands = [...place.done("plan", "-h").matchAll(/^ {2}([a-z]+) {2,}\S/gm)].map(
      ([, name = ""]) => name,
    );
    assert.deepEqual(commands, [
      "create",
      "add",
      "list",
      "show",
      "exec",
      "path",
      "read",
      "write",
      "ls",
      "rm",
      "mv",
      "scratch",
      "sql",
      "diff",
      "checkpoint",
      "checkpoints",
      "restore",
      "update",
      "resolve",
      "apply",
      "rollback",
      "undo",
      "log",
      "cancel",
    ]);
    for (const call of [
      ["run"],
      ...commands.map((name) => ["plan", name]),
      ["strategy", "list"],
      ["strategy", "check"],
      ["resource-type", "list"],
      ["resource-type", "show"],
      ["cleanup", "scan"],
      ["cleanup", "purge"],
      ["cleanup", "status"],
      ["cleanup", "install-timer"],
      ["cleanup", "remove-timer"],
      ["recover"],
      ["doctor"],
      ["init"],
      ["trust"],
    ]) {
      const text = place.done(...call, "--help");
      assert.ok(text.startsWith(`Usage: drydock ${call.join(" ")} `), text);
      for (const option of ["--json", "--state-dir", "--config", "--debug", "-y, --yes"])
        assert.ok(text.includes(option));
      assert.equal(place.done("help", ...call), text);
    }
    assert.equal(place.answer("--help").help, help);
  });

  it("is no help for what is no command, but the nearest name", () => {
    using place = new Workplace();
    for (const call of [
      ["help", "plan", "lst"],
      ["plan", "lst", "--help"],
      ["plan", "lst", "-h"],
    ])
      assertRefused(
        place.drydock(call),
        2,
        /Unknown command 'lst'/,
        /Did you mean list\? 'drydock plan --help'/,
      );
    assertRefused(place.drydock(["help", "nope"]), 2, /Unknown command 'nope'/, /'drydock --help'/);
    assert.equal(place.done("help", "help"), place.done("help"));
  });

  it("[S6] is help that names every type and every strategy", () => {
    using place = new Workplace();
    const help = place.done("plan", "create", "--help");
    for (const name of ["fs-directory", "mysql-database", "git_worktree", "filesystem_copy", "none"])
      assert.ok(help.includes(name));
  });

  it("takes the options of every command before and after its name; the last one counts", () => {
    using place = new Workplace();
    place.folder("app", { a: "a\n" });
    place.done("--state-dir", "other", "plan", "create", "-r", "app", "-y");
    for (const args of [
      ["--state-dir", "other", "--json", "plan", "list"],
      ["plan", "--json", "--state-dir", "other", "list"],
      ["plan", "list", "--json", "--state-dir=other", "--yes"],
      ["--state-dir", "first", "plan", "--state-dir", "second", "list", "--state-dir", "other", "--json"],
    ]) {
      assert.equal(JSON.parse(place.done(...args)).plans.length, 1, args.join(" "));
    }
    place.drydock(["--state-dir", "other", "plan", "write", "app", "a"], { input: "b\n" });
    const message = "--json is not for me";
    place.done("plan", "apply", "-m", message, "--state-dir", "other");
    const [plan] = JSON.parse(place.done("plan", "list", "--all", "--json", "--state-dir", "other")).plans;
    assert.equal(plan.message, message);
  });

  it("[S5] [S8] is what works here, by doctor", () => {
    using place = new Workplace();
    const text = place.done("doctor");
    assert.match(text, /^machine {2}linux \S+, kernel \S+, Node 2\d\.\S+\nstate +\S+\n\nChecks\nok {2}/);
    assert.match(text, /\nok {2}filesystem_copy +20 {2}\S/);
    assert.match(text, /\nfs-directory +\w+ +the strongest that works here/);
    const report = place.answer("doctor");
    assert.deepEqual(Object.keys(report), [
      "node",
      "kernel",
      "platform",
      "stateDir",
      "checks",
      "strategies",
      "resourceTypes",
    ]);
  });

  it("[S7] is what the strategies can do, strongest first", () => {
    using place = new Workplace();
    assert.match(
      place.done("strategy", "list"),
      /^NAME +STRENGTH +COMMIT +UNDO +CHECKPOINT +ISOLATION +FOR\n[\s\S]*\nfilesystem_copy +20 +two-phase +yes/,
    );
    const { strategies } = place.answer("strategy", "list");
    const strengths = strategies.map(({ strength }: { strength: number }) => strength);
    assert.deepEqual(
      strengths,
      [...strengths].sort((a, b) => b - a),
    );
    const none = strategies.find(({ name }: { name: string }) => name === "none");
    const { builtIn, commit, undo, isolation } = none;
    assert.deepEqual(
      { builtIn, commit, undo, isolation },
      { builtIn: true, commit: "in-place", undo: false, isolation: "none" },
    );
  });

  it("[X4] is in one line that it does not work on another platform, but for doctor", () => {
    using place = new Workplace();
    const claim = place.write(
      "darwin.cjs",
      'Object.defineProperty(process, "platform", { value: "darwin" });\n',
    );
    const env = { NODE_OPTIONS: `--require ${claim}` };
    for (const args of [
      ["plan", "list"],
      ["plan", "create"],
      ["recover"],
      ["init"],
      ["trust"],
      ["strategy", "list"],
    ]) {
      assertRefused(
        place.drydock(args, { env }),
        1,
        /^error: Drydock works on Linux only, and this is darwin\.$/,
      );
    }
    assert.equal(place.drydock(["plan", "--help"], { env }).status, 0);
    const { status, stdout, stderr } = place.drydock(["doctor"], { env });
    assert.deepEqual({ status, stderr }, { status: 1, stderr: "" });
    assert.match(stdout, /^machine {2}darwin [\s\S]*\nno {2}platform {2}\S/);
  });

  it("[X4] is by doctor what is wrong with the state directory", () => {
    using place = new Workplace();
    mkdirSync(place.state, { mode: 0o700 });
    mkdirSync(join(place.state, "drydock.db"));
    const { status, stdout, stderr } = place.drydock(["doctor", "--json"]);
    assert.deepEqual({ status, stderr }, { status: 1, stderr: "" });
    const [check] = JSON.parse(stdout).checks;
    assert.deepEqual([check.name, check.ok], ["state directory", false]);
    assertRefused(
      place.drydock(["doctor", "--state-dir", "other", "--config", "none.yaml"]),
      2,
      /There is no config at/,
    );
  });
});
