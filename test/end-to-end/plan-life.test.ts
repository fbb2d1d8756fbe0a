import assert from "node:assert/strict";
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { Workplace } from "./workplace.ts";

const ULID = /^[0-9A-HJKMNP-TV-Z]{26}$/;
const files = { "README.md": "hello\n", "src/app.ts": "one\ntwo\n", "old.txt": "old\n" };

/** Does some work in the sandbox of a plan: one change of every kind. */
function work(folder: string): void {
  writeFileSync(join(folder, "src/app.ts"), "one\n2\nthree\n");
  mkdirSync(join(folder, "docs"));
  writeFileSync(join(folder, "docs/new.md"), "new\n");
  rmSync(join(folder, "old.txt"));
  rmSync(join(folder, "README.md"));
  symlinkSync("docs/new.md", join(folder, "README.md"));
}

describe("the life of a plan on the command line", () => {
  it("goes from create over diff to apply and back by undo, in words for people", () => {
    using place = new Workplace();
    place.folder("app", files);
    const before = place.tree("app");
    const id = place.done("plan", "create", "-r", "app", "--name", "fix").trimEnd();
    assert.match(id, ULID);

    assert.match(
      place.done("plan", "list"),
      new RegExp(`^ID +NAME +STATE +CREATED +RESOURCES\n${id} +fix +open +\\S+Z +app\n$`),
    );
    const shown = place.done("plan", "show", id.slice(0, 20).toLowerCase());
    assert.match(shown, new RegExp(`^id +${id}\nname +fix\nstate +open\n`));
    assert.match(
      shown,
      /\napp\n {2}original {2}\S+\/app \(fs-directory\)\n {2}strategy {2}\w+: the strongest that works here/,
    );

    work(place.done("plan", "path", "fix").trimEnd());
    assert.deepEqual(place.tree("app"), before);
    assert.match(
      place.done("plan", "diff", "fix"),
      new RegExp(
        [
          "^T {2}app/README.md +symlink, to docs/new.md, -1",
          "A {2}app/docs +directory",
          "A {2}app/docs/new.md +\\+1",
          "D {2}app/old.txt +-1",
          "M {2}app/src/app.ts +\\+2 -1",
          "2 added, 2 modified, 1 deleted; 3 insertions\\(\\+\\), 3 deletions\\(-\\)",
          "digest [0-9a-f]{64}\n$",
        ].join("\n"),
      ),
    );
    assert.match(place.done("plan", "diff", "--stat"), /^ app\/src\/app.ts +\| 3 \+\+-$/m);
    assert.equal(
      place.done("plan", "diff", "fix", "--name-only", "./docs/", "old.txt"),
      "app/docs\napp/docs/new.md\napp/old.txt\n",
    );
    assert.match(
      place.done("plan", "diff", "--patch", "fix", "src"),
      /\n--- a\/.*\n\+\+\+ b\/.*\n@@ .*@@\n one\n-two\n\+2\n\+three\n$/,
    );

    assert.match(
      place.done("plan", "apply", "--dry-run"),
      /^Plan \S+ can be applied: 5 changes would land\. Nothing was changed\.\n/,
    );
    assert.deepEqual(place.tree("app"), before);
    assert.match(
      place.done("plan", "apply", "-m", "the fix"),
      /^Applied plan \S+: 5 changes landed\.\n {2}app {2}5 changes/,
    );
    assert.equal(place.read("app/src/app.ts"), "one\n2\nthree\n");
    assert.ok(!existsSync(join(place.path, "app/old.txt")));
    assert.match(place.done("plan", "show", "fix"), /\nstate +applied\n[\s\S]*\nmessage +the fix\n/);
    assert.match(place.done("plan", "list"), /^There are no plans/);
    assert.match(place.done("plan", "list", "--all"), /fix +applied/);

    assert.match(place.done("plan", "undo", "fix"), /^Undid plan \S+: 5 changes taken back\.\n/);
    assert.deepEqual(place.tree("app"), before);
    assert.match(place.done("plan", "list", "--all"), /fix +undone/);
  });

  it("speaks JSON in the shapes of the contract", () => {
    using place = new Workplace();
    const app = place.folder("app", files);
    const created = place.answer("plan", "create", "-r", "web=app", "--name", "fix", "--read-only");
    const { id, createdAt, resources } = created;
    const [{ why, path, strategy }] = resources;
    assert.deepEqual(created, {
      ...{ id, name: "fix", state: "open", readOnly: true, createdAt },
      resources: [
        { name: "web", type: "fs-directory", location: app, strategy, why, status: "CREATED", path },
      ],
    });
    assert.match(createdAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.deepEqual(place.answer("plan", "show", "fix"), created);
    assert.deepEqual(place.answer("plan", "list"), { plans: [created] });
    assert.deepEqual(place.answer("plan", "path", "fix", "web"), { path });
    const nothing = { added: 0, modified: 0, deleted: 0, insertions: 0, deletions: 0 };
    const { digest, ...empty } = place.answer("plan", "diff", "fix");
    assert.deepEqual(empty, { planId: id, stats: nothing, changes: [], renames: [], selfRunning: [] });
    assert.match(digest, /^[0-9a-f]{64}$/);
    assert.equal(place.answer("plan", "cancel", "fix").state, "cancelled");
    assert.deepEqual(place.answer("plan", "list"), { plans: [] });
    assert.equal(place.answer("plan", "list", "--all").plans.length, 1);
  });

  it("gives the changes, and what became of them, as JSON", () => {
    using place = new Workplace();
    place.folder("app", files);
    const { id, resources } = place.answer("plan", "create", "-r", "app");
    work(resources[0].path);
    const diff = place.answer("plan", "diff");
    assert.deepEqual(
      diff.changes.map(({ resource, path, operation, kind }: { [key: string]: string }) => [
        resource,
        path,
        operation,
        kind,
      ]),
      [
        ["app", "README.md", "typechanged", "symlink"],
        ["app", "docs", "added", "directory"],
        ["app", "docs/new.md", "added", "file"],
        ["app", "old.txt", "deleted", "file"],
        ["app", "src/app.ts", "modified", "file"],
      ],
    );
    const { added, modified, deleted } = diff.stats;
    assert.deepEqual({ added, modified, deleted }, { added: 2, modified: 2, deleted: 1 });
    assert.match(place.answer("plan", "diff", "--patch").patch, /\n-two\n\+2\n/);

    const { participants, ...applied } = place.answer("plan", "apply", "-m", "why", "--digest", diff.digest);
    assert.deepEqual(applied, { planId: id, state: "applied", message: "why", attention: [], warnings: [] });
    const [{ strategy }] = resources;
    assert.deepEqual(participants, [{ resource: "app", strategy, outcome: "committed", changes: 5 }]);
    const undone = place.answer("plan", "undo", id);
    assert.equal(undone.state, "undone");
    assert.equal(undone.participants[0].changes, 5);
  });

  it("reads and writes single files, with or without naming the only open plan", () => {
    using place = new Workplace();
    place.folder("app", files);
    place.done("plan", "create", "-r", "app", "--name", "fix");
    const bytes = Buffer.from([0, 1, 254, 255, 10]);
    const write = (...args: readonly string[]) => place.drydock(["plan", "write", ...args], { input: bytes });
    assert.deepEqual(write("fix", "app", "deep/er/data.bin"), {
      status: 0,
      stderr: "",
      stdout: "A  app/deep/er/data.bin  5 bytes\n",
    });
    assert.deepEqual(write("app", "README.md"), {
      status: 0,
      stderr: "",
      stdout: "M  app/README.md  6 → 5 bytes\n",
    });
    const { resource, path, operation, kind } = JSON.parse(write("fix", "app", "x", "--json").stdout);
    assert.deepEqual([resource, path, operation, kind], ["app", "x", "added", "file"]);
    const copied = place.shell('"$DRYDOCK" plan read app deep/er/data.bin > copy.bin');
    assert.equal(copied.status, 0);
    assert.equal(place.run("cmp", ["copy.bin", "-"], { input: bytes }).status, 0);
    const read = place.answer("plan", "read", "fix", "app", "deep/er/data.bin");
    assert.deepEqual(read, {
      resource: "app",
      path: "deep/er/data.bin",
      size: 5,
      base64: bytes.toString("base64"),
    });
    assert.deepEqual(place.tree("app"), { ...files, src: "/" });
  });

  it("[L2] throws work away by rollback and stays open, and by cancel for good, leaving nothing behind", () => {
    using place = new Workplace();
    place.folder("app", files);
    const id = place.done("plan", "create", "-r", "app", "--name", "fix").trimEnd();
    const sandbox = place.done("plan", "path").trimEnd();
    work(sandbox);
    assert.equal(
      place.done("plan", "rollback"),
      `Rolled back plan fix (${id}): its sandboxes show the originals again.\n`,
    );
    assert.equal(place.done("plan", "diff"), "No changes.\n");
    writeFileSync(join(place.done("plan", "path").trimEnd(), "again.txt"), "again\n");
    assert.match(place.done("plan", "diff"), /^A {2}app\/again\.txt +\+1\n/);
    assert.equal(place.answer("plan", "rollback", "fix").state, "open");
    assert.equal(place.done("plan", "cancel"), `Cancelled plan fix (${id}).\n`);
    assert.ok(!existsSync(sandbox));
    assert.deepEqual(place.tree("app"), { ...files, src: "/" });
    assert.deepEqual(readdirSync(place.path).sort(), ["app", "state"]);
  });

  it("lands several folders and a file together, and says who had nothing to land", () => {
    using place = new Workplace();
    place.folder("one", { a: "1\n" });
    place.folder("two", { b: "2\n" });
    place.write("notes.txt", "notes\n");
    const { resources } = place.answer(
      "plan",
      "create",
      "-r",
      "one",
      "-r",
      "second=two",
      "-r",
      "notes.txt",
      "--name",
      "all",
    );
    assert.deepEqual(
      resources.map(({ name, type }: { [key: string]: string }) => [name, type]),
      [
        ["one", "fs-directory"],
        ["second", "fs-directory"],
        ["notes.txt", "fs-file"],
      ],
    );
    place.drydock(["plan", "write", "second", "b"], { input: "two\n" });
    place.drydock(["plan", "write", "notes.txt", "."], { input: "more\n" });
    assert.equal(place.done("plan", "diff", "--name-only"), "second/b\nnotes.txt\n");
    const { participants } = place.answer("plan", "apply");
    assert.deepEqual(
      participants
        .map(({ resource, outcome, changes }: { [key: string]: unknown }) => [resource, outcome, changes])
        .sort(),
      [
        ["notes.txt", "committed", 1],
        ["one", "unchanged", 0],
        ["second", "committed", 1],
      ],
    );
    assert.deepEqual([place.read("two/b"), place.read("notes.txt")], ["two\n", "more\n"]);
  });

  it("takes the current folder if no resource is named", () => {
    using place = new Workplace();
    const cwd = place.folder("app", files);
    const { stdout } = place.drydock(["plan", "create", "--json"], { cwd });
    assert.equal(JSON.parse(stdout).resources[0].location, cwd);
  });

  it("[A12] shows and prints what will not land as it is", () => {
    using place = new Workplace();
    place.folder("app", files);
    place.done("plan", "create", "-r", "app");
    const sandbox = place.done("plan", "path").trimEnd();
    writeFileSync(join(sandbox, "tool"), "#!/bin/sh\n");
    chmodSync(join(sandbox, "tool"), 0o4755);
    assert.match(place.done("plan", "diff"), /^A {2}app\/tool .*\n {3}warning: .*set-?u?id/m);
  });

  it("works in place only if the user said so, and says what that means", () => {
    using place = new Workplace();
    place.folder("app", files);
    const create = ["plan", "create", "-r", "app,strategy=none"];
    const refused = place.drydock(create);
    assert.equal(refused.status, 2);
    assert.match(refused.stderr, /in place[\s\S]*--allow-irreversible/);
    place.done(...create, "--allow-irreversible");
    assert.equal(place.done("plan", "path").trimEnd(), join(place.path, "app"));
    const { status, stderr } = place.drydock(["plan", "apply", "--allow-irreversible"]);
    assert.equal(status, 0, stderr);
    assert.match(stderr, /^warning: .*\n$/);
  });
});
