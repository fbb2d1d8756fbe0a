import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { applyAndUndo, assertNothingLeft } from "../crash/scenarios.ts";
import { sidesOf, World, type WorldOptions } from "../crash/world.ts";
import { Scene } from "../security/scene.ts";
import { type Mounted, mountWithoutExchange, whyNoFuse } from "../support/file-systems.ts";
import { assertSameTree, snapshotTree } from "../support/tree-snapshot.ts";

describe("A file system that can't exchange two names", { skip: whyNoFuse() ?? false }, () => {
  let mounted: Mounted;
  before(() => {
    mounted = mountWithoutExchange();
  });
  after(() => mounted.remove());

  for (const [where, stateIsElsewhere] of [
    ["with the original", false],
    ["elsewhere", true],
  ] as const)
    for (const path of ["original", "original/file"])
      it(`[W1] an original is looked at and discarded, and nothing is left (${path}, state ${where})`, async () => {
        await using elsewhere = new Scene();
        await using scene = new Scene(join(mounted.path, "scene"));
        const untouched = snapshotTree(scene.at("original"));
        const drydock = await scene.open(stateIsElsewhere ? { stateDir: elsewhere.stateDir } : {});
        const plan = await drydock.plans.create({ resources: [{ location: scene.at(path) }] });
        const [resource] = plan.resources;
        assert.deepEqual(
          resource?.notes?.map((note) => note.split(":")[0]),
          ["its file system can't exchange two names in one step"],
          "the weaker promise is not named",
        );
        await drydock.plans.write(
          plan.id,
          resource?.name ?? "",
          path === "original" ? "new" : ".",
          Buffer.from("new\n"),
        );
        assert.equal((await drydock.plans.diff(plan.id)).changes.length, 1);
        await drydock.plans.cancel(plan.id);
        assertSameTree(snapshotTree(scene.at("original")), untouched, "the original");
        const places = [dirname(scene.at("original")), join(drydock.stateDir, "sandboxes")];
        assert.deepEqual(
          places.map((place) => readdirSync(place).filter((name) => /drydock|^[0-9A-Z]{26}/.test(name))),
          [[], []],
        );
      });

  it("[W1] work of every kind lands exactly, and is taken back exactly", async () => {
    const options: WorldOptions = { strategy: "filesystem_copy", places: [{ folder: mounted.path }] };
    const sides = sidesOf(options);
    const world = new World(options);
    try {
      await world.plan();
      await applyAndUndo(world, sides);
      await assertNothingLeft(world);
    } finally {
      world.remove();
    }
  });

  it("[W1] what another writer changed is a conflict, and nothing lands", async () => {
    await using scene = new Scene(join(mounted.path, "contested"));
    const { drydock, plan, sandbox } = await scene.plan();
    for (const root of [sandbox, scene.at("original")])
      writeFileSync(join(root, "file"), root === sandbox ? "mine\n" : "theirs\n");
    writeFileSync(join(sandbox, "new"), "new\n");
    await assert.rejects(drydock.plans.apply(plan.id), /The original changed meanwhile: file/);
    assert.equal(readFileSync(scene.at("original/file"), "utf8"), "theirs\n");
    assert.ok(!existsSync(scene.at("original/new")));
    assert.equal((await drydock.plans.show(plan.id)).state, "open");
  });
});
