import assert from "node:assert/strict";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AtomicCommitError } from "../../src/index.ts";
import { assertNothingLeft, type Scenario } from "./scenarios.ts";
import { PLAN, type World } from "./world.ts";

/**
 * Updates of a plan. In every original the plan and another writer change `clean` in different lines, `clash`
 * in the same ones, and `subset` so that the other writer's version has all of the plan's. Both make the
 * folder `fresh`, each with a file of its own.
 */
const lines = (...changed: readonly [number, string][]) => {
  const all = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`);
  for (const [line, text] of changed) all[line - 1] = text;
  return `${all.join("\n")}\n`;
};
const OURS = lines([2, "ours"]);
const THEIRS: { readonly [path: string]: string } = {
  clean: lines([10, "theirs"]),
  clash: lines([2, "theirs"]),
  subset: lines([2, "ours"], [10, "theirs"]),
};
const MERGED = THEIRS["subset"];
const PATHS = Object.keys(THEIRS);

/** All sandboxes are merged, or none is; the originals stay as the other writer left them. */
export const updatePlan: Scenario = {
  name: "update of a plan",
  operation: "update-plan",
  arrange: disputed,
  verify: async (recovered) => {
    await assertTheirs(recovered.world);
    await assertAllOrNone(recovered.world);
    await assertLands(recovered.world);
  },
};

/** The plan's version of a file that is gone in the original stays, or the conflict does. */
export const resolvePath: Scenario = {
  name: "resolve of a path",
  operation: "resolve-path",
  arrange: async (world) => {
    await disputed(world);
    for (const { location } of world.originals) rmSync(join(location, "clean"));
    return "";
  },
  verify: async ({ world }) => {
    await world.with(async ({ plans, updates }) => {
      assert.equal((await plans.show(PLAN)).state, "open");
      for (const { name } of world.resources())
        assert.equal(Buffer.from(await plans.read(PLAN, name, "clean")).toString(), OURS);
      const { unmerged } = await updates.update(PLAN);
      for (const { resource, path } of unmerged)
        if (path === "clean") await updates.resolve(PLAN, { resource, path, how: "ours" });
    });
    await updatedAndLanded(world, OURS);
    await assertNothingLeft(world);
  },
};

/** Whatever of the earlier content was kept, the work is there, and the next checkpoint keeps the rest. */
export const keepBases: Scenario = {
  name: "checkpoint that keeps bases",
  operation: "save-plan",
  arrange: async (world) => {
    await begun(world);
    return "";
  },
  verify: async ({ world }) => {
    await world.with(async ({ plans }) => {
      await plans.diff(PLAN);
      await otherWriter(world);
    });
    await assertLands(world);
  },
};

/** What updates left goes with the work. */
export const rollbackUpdated: Scenario = {
  name: "rollback of an updated plan",
  operation: "rollback",
  arrange: async (world) => {
    await disputed(world);
    await world.with(({ updates }) => updates.update(PLAN));
    return "";
  },
  verify: async ({ world }) => {
    await assertTheirs(world);
    await world.with(async ({ plans }) => {
      await plans.rollback(PLAN);
      assert.deepEqual((await plans.diff(PLAN)).changes, []);
      await plans.cancel(PLAN);
    });
    await assertNothingLeft(world);
  },
};

/** The plan has its work, and nobody has looked at it. */
async function begun(world: World): Promise<void> {
  for (const { location } of world.originals)
    for (const path of PATHS) writeFileSync(join(location, path), lines());
  await world.with(async ({ plans }) => {
    await plans.create({ name: PLAN, resources: world.resources() });
    for (const { name } of world.resources()) {
      const folder = await plans.path(PLAN, name);
      for (const path of PATHS) writeFileSync(join(folder, path), OURS);
      writeInFresh(folder, "ours");
    }
  });
}

async function disputed(world: World): Promise<string> {
  await begun(world);
  await world.with(({ plans }) => plans.diff(PLAN));
  await otherWriter(world);
  return "";
}

async function otherWriter(world: World): Promise<void> {
  for (const { location } of world.originals) {
    for (const path of PATHS) writeFileSync(join(location, path), THEIRS[path] ?? "");
    writeInFresh(location, "theirs");
  }
}

function writeInFresh(folder: string, name: string): void {
  mkdirSync(join(folder, "fresh"));
  writeFileSync(join(folder, "fresh", name), name);
}

async function assertTheirs({ originals }: World): Promise<void> {
  for (const { location } of originals)
    for (const path of PATHS)
      assert.equal(readFileSync(join(location, path), "utf8"), THEIRS[path], "an original is touched");
}

async function assertAllOrNone(world: World): Promise<void> {
  await world.with(async ({ plans, checkpoints }) => {
    assert.equal((await plans.show(PLAN)).state, "open");
    const texts: string[] = [];
    for (const { name } of world.resources())
      for (const path of PATHS) texts.push(Buffer.from(await plans.read(PLAN, name, path)).toString());
    const untouched = texts.filter((text) => text === OURS).length;
    assert.ok(untouched === 0 || untouched === texts.length, `${untouched} of ${texts.length} are as before`);
    for (const { name } of world.resources()) {
      const theirs = plans.read(PLAN, name, "fresh/theirs");
      if (untouched === 0) await theirs;
      else await assert.rejects(theirs, "a folder is joined");
    }
    const saved = (await checkpoints.list(PLAN)).filter(({ before }) => before === "plan update");
    assert.equal(saved.length, untouched === 0 ? 1 : 0, "the checkpoint that takes it back");
    if (untouched > 0) await assert.rejects(plans.apply(PLAN), AtomicCommitError);
  });
}

async function assertLands(world: World): Promise<void> {
  await updatedAndLanded(world, MERGED);
  await assertNothingLeft(world);
}

async function updatedAndLanded(world: World, clean: string | undefined): Promise<void> {
  await world.with(async ({ plans, updates }) => {
    await updates.update(PLAN);
    for (const { name: resource } of world.resources()) {
      const marked = Buffer.from(await plans.read(PLAN, resource, "clash")).toString();
      assert.match(marked, /^<{7} this plan\nours\n={7}\ntheirs\n>{7} the original\n/m);
      assert.equal(marked.match(/<{7}/g)?.length, 1, "the markers are there twice");
      await updates.resolve(PLAN, { resource, path: "clash", how: "theirs" });
    }
    await plans.apply(PLAN);
    for (const { location } of world.originals) {
      assert.equal(readFileSync(join(location, "clean"), "utf8"), clean);
      assert.equal(readFileSync(join(location, "subset"), "utf8"), MERGED);
      assert.equal(readFileSync(join(location, "clash"), "utf8"), THEIRS["clash"]);
      for (const name of ["ours", "theirs"])
        assert.equal(readFileSync(join(location, "fresh", name), "utf8"), name);
    }
    await plans.undo(PLAN);
  });
}
