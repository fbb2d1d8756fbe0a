import assert from "node:assert/strict";
import { readdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { Change } from "../../src/core/change.ts";
import { assertRefused, Workplace } from "./workplace.ts";

const old = { "a.txt": "a\n", "b.txt": "b\n" };
const landed = { "a.txt": "changed\n", "b.txt": "b\n", "new.txt": "new\n" };
/** What keeps a landing from being finished, as long as a command has it in its environment. */
const stuck = { DRYDOCK_FAILPOINT: "land.add=error" };
/** The same until it has been tried as often as the recovery at the start of a command tries. */
const stuckAtFirst = { DRYDOCK_FAILPOINT: [1, 2, 3].map((nth) => `land.add:${nth}=error`).join(",") };

/** An apply of two folders was killed after the decision: the first has landed, the second only in part. */
function halfLanded(place: Workplace): void {
  for (const folder of ["app", "settings"]) place.folder(folder, old);
  place.done("plan", "create", "-r", "app", "-r", "settings", "--name", "fix");
  for (const folder of ["app", "settings"])
    for (const [path, input] of [
      ["a.txt", "changed\n"],
      ["new.txt", "new\n"],
    ] as const)
      place.drydock(["plan", "write", "fix", folder, path], { input });
  const { status } = place.drydock(["plan", "apply", "fix"], {
    env: { DRYDOCK_FAILPOINT: "land.add:2=kill" },
  });
  assert.equal(status, null);
  assert.deepEqual(
    [place.tree("app"), place.tree("settings")],
    [landed, { "a.txt": "changed\n", "b.txt": "b\n" }],
    "it is half landed",
  );
}

describe("an apply that can't be finished", () => {
  it("[A3] is named by 'recover', with exit code 4, and stays as it is", () => {
    using place = new Workplace();
    halfLanded(place);
    const { status, stdout } = place.drydock(["recover"], { env: stuck });
    assert.equal(status, 4);
    assert.match(stdout, /^pending: the apply of fix \(\S+\): settings: .*input\/output error/);
    assert.match(
      place.drydock(["recover"]).stdout,
      /^finished the apply of fix/,
      "nothing is in the way any more",
    );
    assert.deepEqual([place.tree("app"), place.tree("settings")], [landed, landed]);
  });

  it("[A7] is given up by 'recover PLAN --abort': the originals are as before, the work can be applied again", () => {
    using place = new Workplace();
    halfLanded(place);
    const { status, stdout } = place.drydock(["recover", "fix", "--abort"], { env: stuck });
    assert.equal(status, 0);
    assert.match(stdout, /^took back the unfinished apply of fix \(\S+\)\n$/);
    assert.deepEqual([place.tree("app"), place.tree("settings")], [old, old]);
    assert.equal(place.answer("plan", "show", "fix").state, "open");
    assert.equal(place.answer("plan", "diff", "fix").changes.length, 4);
    assert.equal(place.answer("plan", "apply", "fix").state, "applied");
    assert.deepEqual([place.tree("app"), place.tree("settings")], [landed, landed]);
    assert.equal(place.answer("plan", "undo", "fix").state, "undone");
    assert.deepEqual([place.tree("app"), place.tree("settings")], [old, old]);
    assert.deepEqual(readdirSync(join(place.state, "sandboxes")), []);
  });

  it("[A7] is finished by 'recover PLAN --commit' once that works, and answers as JSON", () => {
    using place = new Workplace();
    halfLanded(place);
    const { status, stdout } = place.drydock(["recover", "fix", "--commit", "--json"], { env: stuckAtFirst });
    const { finished, ...rest } = JSON.parse(stdout);
    assert.deepEqual({ status, ...rest }, { status: 0, undone: [], cleaned: [], pending: [] });
    const [{ planId, ...plan }] = finished;
    assert.deepEqual(plan, { planName: "fix", direction: "commit", attention: [] });
    assert.deepEqual([place.tree("app"), place.tree("settings")], [landed, landed]);
    assert.equal(place.answer("plan", "undo", planId).state, "undone");
    assert.deepEqual([place.tree("app"), place.tree("settings")], [old, old]);
  });

  for (const [how, rivalActs] of [
    ["wrote to a file", (file: string) => writeFileSync(file, "rival\n")],
    ["put a file in the place of one", (file: string) => replaceFile(file, "rival\n")],
  ] as const)
    it(`[A19] is given up without losing what a rival did who ${how} meanwhile, and names it`, () => {
      using place = new Workplace();
      halfLanded(place);
      rivalActs(join(place.path, "settings/a.txt"));
      const { status, stdout, stderr } = place.drydock(["recover", "fix", "--abort"], { env: stuck });
      assert.equal(status, 4, stdout);
      assert.match(stdout, /^took back the unfinished apply of fix/);
      const kept =
        /^attention: settings\/a\.txt: .*; kept at (?<path>\S+)$/m.exec(stderr)?.groups?.["path"] ?? "";
      assert.equal(readFileSync(kept, "utf8"), "rival\n", stderr);
      assert.deepEqual([place.tree("app"), place.tree("settings")], [old, old]);
      // Nobody knows the plan's own version any more, but it must not be taken for a delete.
      const operations = place
        .answer("plan", "diff", "fix")
        .changes.map(({ operation }: Change) => operation);
      assert.deepEqual(operations, ["modified", "added", "modified", "added"]);
      place.done("plan", "rollback", "fix");
      place.done("plan", "cancel", "fix");
      assert.equal(readFileSync(kept, "utf8"), "rival\n");
    });
});

/** As editors do that save by rename. */
function replaceFile(file: string, text: string): void {
  writeFileSync(`${file}.rival`, text);
  renameSync(`${file}.rival`, file);
}

describe("a plan of which nothing is in doubt", () => {
  for (const how of ["--commit", "--abort"])
    it(`is not settled by 'recover PLAN ${how}', and nothing changes`, () => {
      using place = new Workplace();
      place.folder("app", old);
      place.done("plan", "create", "-r", "app", "--name", "fix");
      place.drydock(["plan", "write", "fix", "app", "a.txt"], { input: "changed\n" });
      assertRefused(place.drydock(["recover", "fix", how]), 2, /Nothing of the plan fix is in doubt/);
      assert.equal(place.answer("plan", "show", "fix").state, "open");
      assert.deepEqual(place.tree("app"), old);
    });
});
