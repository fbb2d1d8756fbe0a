import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Workplace } from "./workplace.ts";

const old = { "a.txt": "a\n", "b.txt": "b\n" };

/** A plan called "fix" over app/ with a change of a.txt. */
function planWithWork(place: Workplace): void {
  place.folder("app", old);
  place.done("plan", "create", "-r", "app", "--name", "fix");
  place.drydock(["plan", "write", "fix", "app", "a.txt"], { input: "changed\n" });
}

describe("a signal", () => {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) {
    it(`[A1] stops an apply cleanly before the decision (${signal})`, async () => {
      using place = new Workplace();
      planWithWork(place);
      const apply = place.start(["plan", "apply", "fix"], { DRYDOCK_FAILPOINT: "stage.take-out:1=stop" });
      await apply.stopped();
      apply.signal(signal, "SIGCONT");
      const { status, stdout, stderr } = await apply.ended();
      assert.deepEqual({ status, stdout }, { status: 1, stdout: "" }, stderr);
      assert.match(stderr, new RegExp(`^${signal}: stopping`));
      assert.match(stderr, /^error: .*[Ii]nterrupted.*\n {2}hint: /m);
      assert.deepEqual(place.tree("app"), old);
      assert.match(place.done("plan", "apply", "fix"), /^Applied plan /);
    });
  }

  it("[A1] stops a large apply in the middle of taking files out, and takes all of it back", async () => {
    using place = new Workplace();
    const files = Array.from({ length: 300 }, (_, number) => [`folder/${number}`, "old\n"] as const);
    place.folder("big", Object.fromEntries(files));
    place.done("plan", "create", "-r", "big,strategy=filesystem_copy", "--name", "fix");
    const sandbox = place.done("plan", "path").trimEnd();
    for (const [path] of files) writeFileSync(join(sandbox, path), "changed\n");
    const trace = join(place.path, "trace");
    // The delay is longer than a turn of long work, so one of the next steps sees the signal.
    const apply = place.start(["plan", "apply", "fix"], {
      DRYDOCK_FAILPOINT: "stage.take-out:100=stop,stage.take-out:101=delay",
      DRYDOCK_FAILPOINT_TRACE: trace,
    });
    await apply.stopped();
    apply.signal("SIGINT", "SIGCONT");
    const { status, stdout, stderr } = await apply.ended();
    assert.deepEqual({ status, stdout }, { status: 1, stdout: "" }, stderr);
    assert.match(stderr, /^SIGINT: stopping.*\nerror: .*[Ii]nterrupted/);
    const passed = readFileSync(trace, "utf8").split("\n");
    const taken = passed.filter((line) => line === "failpoint stage.take-out").length;
    assert.ok(taken < 110, `${taken} of ${files.length} files were taken out`);
    assert.deepEqual(place.tree("big"), { folder: "/", ...Object.fromEntries(files) });
    assert.equal(place.answer("plan", "diff", "fix").changes.length, files.length);
    assert.match(place.done("plan", "apply", "fix"), /^Applied plan .*300 changes/);
  });

  it("[A1] does not stop an apply after the decision: it finishes, and a second one is answered", async () => {
    using place = new Workplace();
    planWithWork(place);
    const apply = place.start(["plan", "apply", "fix"], {
      DRYDOCK_FAILPOINT: "land.exchange=stop,land.record:1=stop",
    });
    await apply.stopped();
    apply.signal("SIGINT", "SIGCONT");
    await apply.stopped();
    apply.signal("SIGINT", "SIGCONT");
    const { status, stdout, stderr } = await apply.ended();
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^Applied plan /);
    assert.equal(place.read("app/a.txt"), "changed\n");
  });

  it("[L8] stops a create in the middle of a copy, and nothing of it is left", async () => {
    using place = new Workplace();
    mkdirSync(join(place.path, "big"));
    for (let number = 0; number < 2000; number += 1)
      writeFileSync(join(place.path, "big", `${number}`), "x\n");
    const create = place.start(["plan", "create", "-r", "big,strategy=filesystem_copy"], {
      DRYDOCK_FAILPOINT: "copy.create-file:50=stop",
    });
    await create.stopped();
    create.signal("SIGINT", "SIGCONT");
    const { status, stdout, stderr } = await create.ended();
    assert.deepEqual({ status, stdout }, { status: 1, stdout: "" }, stderr);
    assert.match(stderr, /^error: .*[Ii]nterrupted/m);
    assert.deepEqual(readdirSync(join(place.state, "sandboxes")), []);
    assert.deepEqual(place.answer("plan", "list"), { plans: [] });
  });

  it("[A1] ends a write that waits for its input, and nothing is written", async () => {
    using place = new Workplace();
    planWithWork(place);
    const trace = join(place.path, "trace");
    const write = place.start(["plan", "write", "fix", "app", "b.txt"], { DRYDOCK_FAILPOINT_TRACE: trace });
    write.input("half of ");
    // Signals are caught before the state is opened.
    await write.until(() => existsSync(trace));
    await write.reading();
    write.signal("SIGTERM");
    const { status, stderr } = await write.ended();
    assert.equal(status, 1, stderr);
    assert.match(stderr, /^error: Interrupted/m);
    assert.equal(place.done("plan", "read", "fix", "app", "b.txt"), "b\n");
  });

  it("ends a command that only looks at once, as it ends any program", async () => {
    using place = new Workplace();
    planWithWork(place);
    const diff = place.start(["plan", "diff", "fix"], { DRYDOCK_FAILPOINT: "store.open=stop" });
    await diff.stopped();
    diff.signal("SIGTERM", "SIGCONT");
    const { status, signal, stdout } = await diff.ended();
    assert.deepEqual({ status, signal, stdout }, { status: null, signal: "SIGTERM", stdout: "" });
  });
});
