import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unknownIn } from "../../scripts/test-order.ts";
import { findTests } from "../../scripts/test-run.ts";
import { runProgram, TemporaryFolder } from "./project-copy.ts";

/** Runs what `npm test -- src` runs in a project that has only these test files; or another command. */
function runTests(
  sources: string | readonly string[],
  env: NodeJS.ProcessEnv = {},
  command = [process.execPath, "scripts/test.ts", "src"],
) {
  using folder = new TemporaryFolder();
  folder.copy("scripts", "package.json");
  folder.linkPackages();
  for (const [at, source] of [sources].flat().entries())
    folder.write(
      `src/${"abc"[at]}.test.ts`,
      `import { beforeEach, describe, it } from "node:test";\n${source}`,
    );
  const [program = "", ...args] = command;
  return runProgram(program, args, { cwd: folder.path, env: { CI: "", ...env } });
}

describe("the test command", () => {
  it("ends with the files that took longest, their processor time, and the closing lines of Node's test runner", () => {
    const { status, stdout } = runTests('it("passes", () => {});\n');
    assert.equal(status, 0, stdout);
    assert.match(
      stdout,
      /What took longest:\n +\d+[.]\d s src\/a[.]test[.]ts [(]\d+[.]\d s of processor time[)]\nProcessor time of/,
    );
    assert.match(stdout, /ℹ tests 1\n[\s\S]*ℹ pass 1\nℹ fail 0\n[\s\S]*ℹ skipped 0\n/);
  });

  it("runs long files first, and knows no file that is gone", () => {
    const files = findTests([]);
    assert.deepEqual(unknownIn(files), []);
    assert.equal(new Set(files).size, files.length);
    assert.match(files[0] ?? "", /^test\//);
  });

  it("has a long form by a name of its own", () => {
    const isLong = 'it("is long", (t) => t.assert.equal(process.env["DRYDOCK_TEST"], "long"));\n';
    assert.equal(runTests(isLong, {}, ["npm", "run", "test:long", "--", "src"]).status, 0);
    assert.equal(runTests(isLong, { DRYDOCK_TEST: "" }).status, 1);
  });

  it("prints a failure in full and fails", () => {
    const { status, stdout } = runTests(
      'describe("a", () => it("b", () => { throw new Error("first", { cause: new Error("second") }); }));\n',
    );
    assert.equal(status, 1);
    assert.match(stdout, /✖ src\/a\.test\.ts: a > b\nError: first\n[\s\S]*\[cause\]: Error: second\n/);
    assert.match(stdout, /1 FAILED:\n {2}- src\/a\.test\.ts: a > b\n/);
  });

  it("shows skipped tests with their reasons, and fails because of them under CI only", () => {
    const source = 'it("passes", () => {});\nit("skips", { skip: "no xfs here" }, () => {});\n';
    const local = runTests(source);
    assert.equal(local.status, 0, local.stdout);
    assert.match(local.stdout, /1 SKIPPED:\n {2}- src\/a\.test\.ts: skips: no xfs here\n/);
    const ci = runTests(source, { CI: "true" });
    assert.equal(ci.status, 1);
    assert.match(ci.stderr, /1 tests were skipped, and CI=true/);
  });

  it("counts what is still to do as skipped", () => {
    const { status, stdout } = runTests('it("waits", { todo: "for later" }, () => {});\n', { CI: "true" });
    assert.equal(status, 1);
    assert.match(stdout, /1 SKIPPED:\n {2}- src\/a\.test\.ts: waits: to do, for later\n/);
  });

  it("fails when a file has no tests, can't be loaded, or dies", () => {
    assert.equal(runTests("describe;\nit;\n").status, 1);
    assert.equal(runTests('throw new Error("broken");\n').status, 1);
    assert.equal(runTests('it("passes", () => {});\nprocess.exit(3);\n').status, 1);
  });

  it("runs several files in one process, but for those that would reach the others", () => {
    const says = 'it("says", () => console.log(`process ${process.pid}`));\n';
    const { status, stdout } = runTests([says, says, `beforeEach(() => {});\n${says}`]);
    assert.equal(status, 0, stdout);
    assert.match(stdout, /ℹ tests 3\n/);
    assert.match(stdout, / s src\/a[.]test[.]ts and 1 more [(]/);
    const processes = [...stdout.matchAll(/^process (\d+)$/gm)].map(([, pid]) => pid);
    assert.deepEqual([processes.length, new Set(processes).size], [3, 2]);
    const madeElsewhere = `const make = it;\n${says.replace("it(", "make(")}`;
    assert.doesNotMatch(runTests([says, madeElsewhere]).stdout, / and 1 more /);
    const long = runTests([says, says], { DRYDOCK_TEST: "long" }).stdout;
    assert.equal(new Set([...long.matchAll(/^process (\d+)$/gm)].map(([, pid]) => pid)).size, 2);
  });

  it("fails when one of several files in a process has no tests, fails, can't be loaded, or ends it", () => {
    const passes = 'it("passes", () => {});\n';
    const silent = runTests([passes, "describe;\nit;\n"]);
    assert.equal(silent.status, 1);
    assert.match(silent.stdout, /1 FAILED:\n {2}- src\/b\.test\.ts: there is no test in it\n/);
    const failing = runTests([passes, 'it("fails", () => { throw new Error("broken"); });\n']);
    assert.equal(failing.status, 1);
    assert.match(failing.stdout, /1 FAILED:\n {2}- src\/b\.test\.ts: fails\n/);
    assert.equal(runTests(['throw new Error("broken");\n', passes]).status, 1);
    assert.equal(runTests([passes, `${passes}process.exit(0);\n`, passes]).status, 1);
  });

  it("fails when no file matches", () => {
    using folder = new TemporaryFolder();
    folder.copy("scripts", "package.json");
    folder.linkPackages();
    const { status, stderr } = runProgram(process.execPath, ["scripts/test.ts", "nowhere"], {
      cwd: folder.path,
    });
    assert.equal(status, 1);
    assert.match(stderr, /No test file has nowhere in its path/);
  });
});
