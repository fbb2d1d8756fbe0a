import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused, Workplace } from "./workplace.ts";

/** A plan called "fix" over app/, with a changed file, a new one and a deleted one. */
function planWithWork(place: Workplace): void {
  place.folder("app", { "a.txt": "a\n", "b.txt": "b\n" });
  place.done("plan", "create", "-r", "app", "--name", "fix");
  const sandbox = place.done("plan", "path", "fix").trimEnd();
  writeFileSync(join(sandbox, "a.txt"), "changed\n");
  writeFileSync(join(sandbox, "new.txt"), "new\n");
  place.run("rm", [join(sandbox, "b.txt")]);
}

describe("the exit code of a command", () => {
  it("[A15] is 3 for a conflict, with every path named and nothing changed, and 0 once it is settled", () => {
    using place = new Workplace();
    planWithWork(place);
    place.write("app/a.txt", "rival\n");
    place.write("app/new.txt", "rival too\n");
    const before = place.tree("app");
    const refused = place.drydock(["plan", "apply", "fix"]);
    assertRefused(refused, 3, /The plan was not applied/);
    assert.match(refused.stderr, /^ {2}conflict: app\/a\.txt: \S/m);
    assert.match(refused.stderr, /^ {2}conflict: app\/new\.txt: \S/m);
    const { status, stdout } = place.drydock(["plan", "apply", "fix", "--json"]);
    const { code, details } = JSON.parse(stdout).error;
    assert.deepEqual([status, code], [3, "ATOMIC_COMMIT"]);
    assert.deepEqual(Object.keys(details), ["failed", "undone", "notUndone", "conflicts", "reason"]);
    const paths = details.conflicts.map(
      ({ resource, path }: { [key: string]: string }) => `${resource}/${path}`,
    );
    assert.deepEqual(paths.sort(), ["app/a.txt", "app/new.txt"]);
    assert.deepEqual(place.tree("app"), before);
    place.done("plan", "rollback", "fix");
    place.done("plan", "cancel", "fix");
  });

  it("is 3 if what would land is not what was reviewed", () => {
    using place = new Workplace();
    planWithWork(place);
    const { digest } = place.answer("plan", "diff", "fix");
    appendFileSync(join(place.done("plan", "path").trimEnd(), "new.txt"), "more\n");
    assertRefused(place.drydock(["plan", "apply", "--digest", digest]), 3, /digest differs/, /plan diff/);
    assert.equal(place.read("app/a.txt"), "a\n");
    place.done("plan", "apply", "--digest", place.answer("plan", "diff").digest);
    assert.equal(place.read("app/new.txt"), "new\nmore\n");
  });

  it("[A1] is 1 if an apply fails, with everything as before and the work still there", () => {
    using place = new Workplace();
    planWithWork(place);
    const before = place.tree("app");
    for (const failure of [
      "stage.manifest=enospc",
      "stage.take-out:2=error",
      "landings.flush-staged=error",
    ]) {
      const ended = place.drydock(["plan", "apply", "fix"], { env: { DRYDOCK_FAILPOINT: failure } });
      assertRefused(ended, 1, /The plan was not applied: app: /);
      assert.deepEqual(place.tree("app"), before);
    }
    assert.equal(place.answer("plan", "apply", "fix").participants[0].changes, 3);
  });

  it("is 1 for a plan that is over, with what to do", () => {
    using place = new Workplace();
    planWithWork(place);
    assertRefused(place.drydock(["plan", "undo", "fix"]), 1, /is open and cannot become undoing/);
    place.done("plan", "cancel", "fix");
    for (const command of ["apply", "rollback", "undo", "cancel"]) {
      assertRefused(place.drydock(["plan", command, "fix"]), 1, /is cancelled/, /drydock plan create/);
    }
    for (const args of [
      ["diff", "fix"],
      ["path", "fix"],
      ["read", "fix", "app", "a.txt"],
    ]) {
      assertRefused(place.drydock(["plan", ...args]), 1, /CLEANED_UP/);
    }
  });

  it("[L8] is 2 for a read-only plan that is to be changed or applied", () => {
    using place = new Workplace();
    place.folder("app", { "a.txt": "a\n" });
    place.done("plan", "create", "-r", "app", "--read-only");
    assertRefused(place.drydock(["plan", "write", "app", "a.txt"]), 2, /is read-only/);
    assertRefused(place.drydock(["plan", "apply"]), 2, /is read-only/);
    assert.equal(place.done("plan", "read", "app", "a.txt"), "a\n");
  });

  it("[A19] is 4 if a rival changed something while it landed: both are kept, and the copy is named", async () => {
    using place = new Workplace();
    planWithWork(place);
    const apply = place.start(["plan", "apply", "fix"], { DRYDOCK_FAILPOINT: "land.exchange=stop" });
    await apply.stopped();
    writeFileSync(join(place.path, "app/a.txt"), "rival\n");
    apply.signal("SIGCONT");
    const { status, stdout, stderr } = await apply.ended();
    assert.equal(status, 4, stderr);
    assert.match(stdout, /^Applied plan /);
    const kept = /^attention: app\/a\.txt: .*; kept at (?<kept>\S+)$/m.exec(stderr)?.groups?.["kept"] ?? "";
    assert.equal(place.run("cat", [kept]).stdout, "rival\n");
    assert.equal(place.read("app/a.txt"), "changed\n");
  });

  it("[A19] lists with --json what needs attention", async () => {
    using place = new Workplace();
    planWithWork(place);
    const apply = place.start(["plan", "apply", "fix", "--json"], {
      DRYDOCK_FAILPOINT: "land.exchange=stop",
    });
    await apply.stopped();
    writeFileSync(join(place.path, "app/a.txt"), "rival\n");
    apply.signal("SIGCONT");
    const { status, stdout, stderr } = await apply.ended();
    assert.deepEqual({ status, stderr }, { status: 4, stderr: "" });
    const { state, attention } = JSON.parse(stdout);
    assert.equal(state, "applied");
    assert.deepEqual(
      [attention[0].resource, attention[0].path, typeof attention[0].keptAt],
      ["app", "a.txt", "string"],
    );
  });

  it("[X4] is 1 for a defect, in two lines without a trace, which --debug adds", () => {
    using place = new Workplace();
    const broken = place.write(
      "broken.cjs",
      'Array.prototype.flatMap = () => { throw new TypeError("oh"); };\n',
    );
    const list = (...args: readonly string[]) =>
      place.drydock(["strategy", "list", ...args], { env: { NODE_OPTIONS: `--require ${broken}` } });
    assertRefused(list(), 1, /^error: oh$/, /This is a defect of Drydock\./);
    assert.match(list("--debug").stderr, /^TypeError: oh\n {4}at /m);
    assert.equal(JSON.parse(list("--json").stdout).error.code, "DEFECT");
  });

  it("[X4] is 1 for a defect that shows up late, and there is still only one document on stdout", () => {
    using place = new Workplace();
    const late = `process.on("newListener", (name) => {
      if (name === "uncaughtException") setImmediate(() => { throw new TypeError("oh"); });
    });`;
    const env = { NODE_OPTIONS: `--require ${place.write("late.cjs", late)}` };
    const { status, stdout, stderr } = place.drydock(["plan", "list", "--json"], { env });
    assert.equal(status, 1);
    assert.match(stderr, /^error: oh\n {2}hint: This is a defect of Drydock\..*\n$/);
    assert.deepEqual(JSON.parse(stdout), { plans: [] });
  });

  it("[X4] comes with a trace only for --debug", () => {
    using place = new Workplace();
    const { stderr } = place.drydock(["plan", "show", "nothing", "--debug"]);
    assert.match(stderr, /^error: There is no open plan|^error: There is no plan/);
    assert.match(stderr, /\nUsageError: .*\n {4}at /);
  });
});
