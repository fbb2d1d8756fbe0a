import assert from "node:assert/strict";
import { mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";
import type { PlanDiff } from "../../src/index.ts";
import type { Services } from "../../src/services.ts";
import { TestRepository } from "../support/test-repository.ts";
import { Later } from "./later.ts";

type Row = readonly [operation: string, kind: string, path: string];

function rowsOf({ changes }: PlanDiff): readonly Row[] {
  return changes.map(({ operation, kind, path }): Row => [operation, kind, path]);
}

async function patchOf({ plans }: Services, paths: readonly string[] = []): Promise<string> {
  return (await Array.fromAsync(plans.patch("p", { paths }))).join("");
}

/** Makes a plan over the folder, with every kind of change in it. */
async function workOn(place: Later, services: Services, strategy: string): Promise<PlanDiff> {
  place.folder("app/old", { "x.txt": "x\n", "deep/y.txt": "y\n" });
  for (const name of ["text", "gone", "mode"]) place.write(`app/${name}`, `${name}\n`);
  symlinkSync("text", join(place.path, "app/link"));
  await services.plans.create({ name: "p", resources: [{ location: "app", strategy }] });
  const script = [
    "echo more >> text; rm gone; rm -r old; chmod 755 mode; ln -sfn gone link",
    "mkdir -p new/inner; echo a > new/a; echo b > new/inner/b; mkdir old; echo z > old/z.txt",
  ];
  await services.capture("p", { command: ["sh", "-c", script.join("; ")] });
  return await services.plans.diff("p");
}

describe("what landed", () => {
  for (const strategy of ["overlay", "filesystem_copy"]) {
    it(`[V11] an applied plan lists every path that it changed, and shows it, with ${strategy}`, async () => {
      using place = new Later();
      await place.with(0, async (services) => {
        const before = await workOn(place, services, strategy);
        const patch = await patchOf(services);
        await services.plans.apply("p");

        const landed = await services.plans.diff("p");
        assert.deepEqual(rowsOf(landed), rowsOf(before));
        assert.deepEqual(landed.landed?.unlisted, []);
        assert.equal(await patchOf(services), patch);

        // Another writer's content is not shown as the plan's.
        writeFileSync(join(place.path, "app/text"), "another writer\n");
        assert.doesNotMatch(await patchOf(services, ["text"]), /another writer/);
      });
      assert.match(place.done("plan", "show", "p"), /^A {2}app\/new\/inner\/b/m);
      assert.match(place.done("plan", "diff", "p"), /landed at 2/);
    });
  }

  it("[V11] goes on listing it when it can't be undone any more, within the bounds of the config", async () => {
    using place = new Later();
    const before = await place.with(0, async (services) => {
      const diff = await workOn(place, services, "filesystem_copy");
      await services.plans.apply("p");
      return diff;
    });
    const [patch, landed] = await place.with(8, async (services) => [
      await patchOf(services),
      await services.plans.diff("p"),
    ]);
    assert.deepEqual(rowsOf(landed), rowsOf(before));
    assert.doesNotMatch(patch, /^\+more/m);

    place.write("drydock.yaml", "sandbox: { closed_plans: { most_changes: 2 } }\n");
    place.done("trust", "drydock.yaml");
    await place.applied("small");
    await place.with(0, async ({ plans }) => {
      await plans.create({ name: "large", resources: [{ location: "app", strategy: "filesystem_copy" }] });
      for (const name of ["1", "2", "3"]) await plans.write("large", undefined, name, Buffer.from(name));
      await plans.apply("large");
    });
    const large = await place.with(8, ({ plans }) => plans.diff("large"));
    assert.deepEqual(
      [rowsOf(large).map(([, , path]) => path), large.landed?.unlisted],
      [["1", "2"], [{ resource: "app", changes: 1 }]],
    );
  });

  it("[V11] names git's commits by their ids, and rows by their keys", async () => {
    using place = new Later();
    const app = join(place.path, "app");
    const repository = new TestRepository(app);
    repository.git("init", "-q", "-b", "main");
    for (const [key, value] of [
      ["user.name", "Ada"],
      ["user.email", "ada@example.com"],
    ] as const)
      repository.git("config", key, value);
    repository.commitAll("begin");
    mkdirSync(join(place.path, "data"));
    const database = new DatabaseSync(join(place.path, "data/a.db"));
    database.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v); INSERT INTO t VALUES (1, 'a'), (2, 'b')");
    database.close();
    for (const strategy of ["overlay", "git_worktree"]) {
      await place.with(0, async (services) => {
        const resources = [{ location: "app", strategy }, { location: "data/a.db" }];
        const { id } = await services.plans.create({ resources });
        const command = ["sh", "-ec", `echo ${strategy} > ${strategy}; git add -A; git commit -qm inside`];
        const { exitCode, stderr } = await services.capture(id, { command, cwd: app });
        assert.equal(exitCode, 0, stderr.text);
        await services.plans.sql(id, "a.db", `UPDATE t SET v = '${strategy}' WHERE id = 2`);
        await services.plans.apply(id);
        const { changes } = await services.plans.diff(id);
        const branch = changes.find(({ path }) => path === ".git/refs/heads/main");
        assert.equal(branch?.after?.object, repository.git("rev-parse", "main").trim());
        assert.ok(changes.some(({ path, operation }) => path === strategy && operation === "added"));
        assert.ok(changes.some(({ resource, path }) => resource === "a.db" && path === "t/2"));
      });
    }
  });

  it("[P14] the log alone tells who said what, who approved it and how, and what landed, after all else is gone", async () => {
    using place = new Later();
    await place.with(0, async ({ plans, reviews }) => {
      await plans.create({ name: "p", resources: [{ location: "app", strategy: "filesystem_copy" }] });
      await plans.write("p", undefined, "a", Buffer.from("2\n"));
      const review = await reviews();
      await review.comment("p", { path: "a", side: "after", line: 1, text: "why two?", via: "page" });
      const { digest } = await plans.diff("p");
      await plans.approve("p", { digest, via: "terminal" });
      await plans.apply("p", { approved: true, message: "two" });
    });
    const { entries } = await place.with(30, ({ log }) => log("p"));
    const told = (event: string) => {
      const found = entries.find((entry) => entry.event === event);
      assert.match(found?.actor ?? "", /^.+@.+$/, event);
      return { ...found?.details } as { readonly [fact: string]: unknown };
    };
    assert.deepEqual([told("commented")["text"], told("commented")["path"]], ["why two?", "a"]);
    assert.equal(told("approved")["via"], "terminal");
    assert.deepEqual([told("applied")["message"], told("applied")["changes"]], ["two", 1]);
    assert.ok(entries.some(({ event }) => event === "undo discarded"));
  });

  it("leaves nothing of a plan that was undone in its list", async () => {
    using place = new Later();
    await place.applied("p");
    place.done("plan", "undo", "p");
    assert.equal(place.drydock(["plan", "diff", "p"]).status, 1);
  });
});
