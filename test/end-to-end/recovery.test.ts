import assert from "node:assert/strict";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Workplace } from "./workplace.ts";

const old = { "a.txt": "a\n", "b.txt": "b\n" };
const landed = { "a.txt": "changed\n", "b.txt": "b\n", "new.txt": "new\n" };

/** Has a plan called "fix" with work, and lets a command on it be killed at a failpoint. */
function killed(place: Workplace, failpoint: string, ...args: readonly string[]): void {
  place.folder("app", old);
  place.done("plan", "create", "-r", "app", "--name", "fix");
  place.drydock(["plan", "write", "fix", "app", "a.txt"], { input: "changed\n" });
  place.drydock(["plan", "write", "fix", "app", "new.txt"], { input: "new\n" });
  const ended = place.drydock(args, { env: { DRYDOCK_FAILPOINT: `${failpoint}=kill` } });
  assert.equal(ended.status, null, ended.stderr);
}

describe("recovery on the command line", () => {
  it("[A3] finishes what was decided, by itself with the next command, and says so", () => {
    using place = new Workplace();
    killed(place, "land.exchange", "plan", "apply", "fix");
    const { status, stdout, stderr } = place.drydock(["plan", "list", "--all"]);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^recovered: the apply of plan fix \(\S+\) is finished\n$/);
    assert.match(stdout, /fix +applied/);
    assert.deepEqual(place.tree("app"), landed);
    assert.equal(place.done("recover"), "There is nothing to recover.\n");
  });

  it("[A3] takes back what was not decided, by 'recover', and keeps the work", () => {
    using place = new Workplace();
    killed(place, "landings.flush-staged", "plan", "apply", "fix");
    assert.deepEqual(place.tree("app"), old);
    const { status, stdout } = place.drydock(["recover"]);
    assert.deepEqual(
      [status, /^took back the unfinished apply of fix \(\S+\)\n/.test(stdout)],
      [0, true],
      stdout,
    );
    assert.equal(place.answer("plan", "apply", "fix").participants[0].changes, 2);
    assert.deepEqual(place.tree("app"), landed);
  });

  it("[A3] answers with what it settled as JSON, also what opening the state has settled", () => {
    using place = new Workplace();
    killed(place, "land.add", "plan", "apply", "fix");
    const { status, stdout } = place.drydock(["recover", "--json"]);
    const { finished, ...rest } = JSON.parse(stdout);
    assert.deepEqual({ status, ...rest }, { status: 0, undone: [], cleaned: [], pending: [] });
    const [{ planId, ...plan }] = finished;
    assert.deepEqual(plan, { planName: "fix", direction: "commit", attention: [] });
    assert.equal(place.answer("plan", "undo", planId).state, "undone");
    assert.deepEqual(place.tree("app"), old);
  });

  it("[C2] removes what a create left that was killed", () => {
    using place = new Workplace();
    place.folder("app", old);
    const create = place.drydock(["plan", "create", "-r", "app,strategy=filesystem_copy"], {
      env: { DRYDOCK_FAILPOINT: "copy.create-file:2=kill" },
    });
    assert.equal(create.status, null);
    const { status, stdout } = place.drydock(["recover", "--json"]);
    assert.deepEqual([status, JSON.parse(stdout).cleaned.length > 0], [0, true], stdout);
    assert.deepEqual(place.answer("plan", "list"), { plans: [] });
    assert.deepEqual(readdirSync(join(place.state, "sandboxes")), []);
    assert.deepEqual(readdirSync(place.path).sort(), ["app", "state"]);
  });

  it("[A19] names what a rival changed while nobody was there, with exit code 4", () => {
    using place = new Workplace();
    killed(place, "land.exchange", "plan", "apply", "fix");
    writeFileSync(join(place.path, "app/a.txt"), "rival\n");
    const { status, stdout, stderr } = place.drydock(["recover"]);
    assert.equal(status, 4, stderr);
    assert.match(stdout, /^finished the apply of fix/);
    assert.match(stderr, /^attention: app\/a\.txt: .*; kept at \S+$/m);
  });

  it("[A14] refuses a second apply of the same plan while the first is at work, and names it", async () => {
    using place = new Workplace();
    place.folder("app", old);
    place.done("plan", "create", "-r", "app", "--name", "fix");
    place.drydock(["plan", "write", "fix", "app", "a.txt"], { input: "changed\n" });
    const first = place.start(["plan", "apply", "fix"], { DRYDOCK_FAILPOINT: "stage.manifest:1=stop" });
    await first.stopped();
    const second = place.start(["plan", "cancel", "fix"]);
    await second.until(() => true);
    first.signal("SIGCONT");
    const ends = [(await first.ended()).status, (await second.ended()).status];
    // Either it waited and found the plan applied, or it was refused; never both at once.
    assert.deepEqual(ends, [0, 1]);
    assert.equal(place.read("app/a.txt"), "changed\n");
  });
});
