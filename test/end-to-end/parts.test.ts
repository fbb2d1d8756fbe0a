import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { assertRefused, Workplace } from "./workplace.ts";

describe("plan apply --only", () => {
  it("[A1][X5][S7] lands a part and keeps the rest, refuses what means nothing or lands as one, and can be undone", () => {
    using place = new Workplace();
    place.folder("app", { "README.md": "hello\n", "src/app.ts": "one\n" });
    place.run("sqlite3", [join(place.path, "data.db"), "CREATE TABLE t(a)"]);
    const resources = ["-r", "app,strategy=filesystem_copy", "-r", "data.db"];
    const id = place.done("plan", "create", "--name", "fix", ...resources).trim();
    const app = place.done("plan", "path", "fix", "app").trim();
    writeFileSync(join(app, "README.md"), "new\n");
    writeFileSync(join(app, "src/app.ts"), "two\n");
    place.done("plan", "sql", "fix", "data.db", "-c", "INSERT INTO t VALUES (1)");

    const apply = (...only: readonly string[]) => place.drydock(["plan", "apply", "fix", "--only", ...only]);
    assertRefused(
      apply("src/*.ts", "READM.md"),
      2,
      /Nothing .* is meant by 'READM\.md'/,
      /Did you mean README\.md\?/,
    );
    assertRefused(
      apply("data.db:t"),
      2,
      /data\.db can't land in parts: its strategy snapshot/,
      /folders and files in an overlay/,
    );
    assert.equal(place.read("app/README.md"), "hello\n");

    const landed = place.answer(
      "plan",
      "apply",
      "fix",
      "--only",
      "app:src/*.ts",
      "--only",
      "./READ*",
      "-m",
      "part",
    );
    assert.deepEqual(
      [landed.planId, landed.state, landed.participants],
      [id, "open", [{ resource: "app", strategy: "filesystem_copy", outcome: "committed", changes: 2 }]],
    );
    assert.equal(place.read("app/src/app.ts"), "two\n");
    assert.match(place.done("plan", "diff", "fix", "--name-only"), /^data\.db\/t\S*\n$/);
    assert.match(
      place.done("plan", "log", "fix"),
      /part applied .*part, only \["app:src\/\*\.ts","app:READ\*"\]/,
    );
    assert.match(
      place.done("plan", "undo", "fix"),
      new RegExp(`^Undid the last part of plan ${id}: 2 changes taken`),
    );
    assert.equal(place.read("app/README.md"), "hello\n");
    assert.match(
      apply("**/*.ts").stdout,
      new RegExp(`^Applied a part of plan ${id}: 1 change landed\\. The rest stays in the plan\\.\n`),
    );
    place.done("plan", "apply", "fix");
    assert.match(
      place.done("plan", "undo", "fix"),
      new RegExp(`^Undid the last landing, but not the parts before it, of plan ${id}: 2 changes taken`),
    );
    assert.match(place.done("plan", "undo", "fix"), new RegExp(`^Undid plan ${id}: 1 change taken`));
    assert.equal(place.read("app/src/app.ts"), "one\n");
  });

  it("lands what a resource inside of another one has, by its name", () => {
    using place = new Workplace();
    const before = { f: "one\n", "in/f": "one\n", "in/g": "one\n" };
    place.folder("out", before);
    place.done("plan", "create", "--name", "p", "-r", "out,strategy=filesystem_copy", "-r", "in=out/in");
    for (const path of Object.keys(before))
      place.drydock(["plan", "write", "p", "out", path], { input: "two\n" });
    place.done("plan", "apply", "p", "--only", "in:g");
    assert.deepEqual(place.tree("out"), { ...before, in: "/", "in/g": "two\n" });
    place.done("plan", "apply", "p", "--only", "in:**");
    assert.deepEqual(place.tree("out"), { f: "one\n", in: "/", "in/f": "two\n", "in/g": "two\n" });
    place.done("plan", "cancel", "p");
  });
  for (const [how, policy, dies] of [
    ["is cancelled", "on_apply", undefined],
    ["is cancelled by a process that dies", "on_apply", "cleanup.remove:1"],
    ["is cancelled and keeps its sandboxes", "manual", undefined],
  ] as const)
    it(`[X5] can still be undone, part by part, when the plan ${how}`, () => {
      using place = new Workplace();
      place.folder("app", { one: "old\n", two: "old\n", three: "old\n" });
      const config = ["--config", place.write("policy.yaml", `sandbox: { cleanup: ${policy} }\n`)];
      const id = place.done("plan", "create", "--name", "fix", "-r", "app,strategy=filesystem_copy").trim();
      const app = place.done("plan", "path", "fix").trim();
      for (const name of ["one", "two", "three"]) writeFileSync(join(app, name), "new\n");
      for (const name of ["one", "two"]) place.done("plan", "apply", "fix", "--only", name);
      if (dies === undefined) {
        const said = place.done(...config, "plan", "cancel", "fix");
        assert.match(said, /^Cancelled plan fix .*\nWhat had landed of it stays\.\n/);
        assert.ok(said.endsWith(`\n  undo it: drydock plan undo ${id}\n`), said);
      } else {
        const env = { DRYDOCK_FAILPOINT: `${dies}=kill` };
        assert.equal(place.drydock(["plan", "cancel", "fix"], { env }).status, null);
        place.drydock(["recover"]);
      }
      const { state, undo } = place.answer("plan", "show", id);
      assert.deepEqual([state, typeof undo.until], ["applied", "string"]);
      assert.equal(place.done("plan", "diff", id, "--name-only"), "app/one\napp/two\n");
      const contents = () => ["one", "two", "three"].map((name) => place.read(`app/${name}`).trim());
      assert.deepEqual(contents(), ["new", "new", "old"]);
      const { items } = place.answer("cleanup", "scan");
      assert.deepEqual(
        [items.length > 0, items.some(({ holdsWork }: { holdsWork?: true }) => holdsWork)],
        [policy === "manual", false],
      );
      place.done(...config, "plan", "undo", id);
      assert.deepEqual(contents(), ["new", "old", "old"]);
      place.done("undo", "-y");
      assert.deepEqual(contents(), ["old", "old", "old"]);
      assert.equal(place.answer("plan", "show", id).state, "undone");
      place.done("cleanup", "purge");
      assert.deepEqual(place.answer("cleanup", "scan").items, []);
    });
});
