import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unknownIn } from "../../scripts/test-order.ts";
import { findTests } from "../../scripts/test-run.ts";
import { runProgram, TemporaryFolder } from "./project-copy.ts";

/** Runs what `npm test -- src` runs in a project that has only this test file; or another command. */
function runTests(
  source: string,
  env: NodeJS.ProcessEnv = {},
  command = [process.execPath, "scripts/test.ts", "src"],
) {
  using folder = new TemporaryFolder();
  folder.copy("scripts", "package.json");
  folder.linkPackages();
  folder.write("src/a.test.ts", `import { describe, it } from "node:test";\n${source}`);
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
