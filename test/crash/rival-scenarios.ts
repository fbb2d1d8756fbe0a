import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  lstatSync,
  readdirSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { snapshotTree, treeDifferences } from "../support/tree-snapshot.ts";
import { apply, assertNothingLeft, create, type Scenario } from "./scenarios.ts";
import { PLAN, type Sides, type World } from "./world.ts";

/**
 * Steps that are only taken because of a rival, who acts while the operation is stopped right before one of
 * its own.
 */

/**
 * Files change while they are copied, though only in their change time, so that the original is what it was.
 */
export const createWhileChanging: Scenario = {
  ...create,
  name: "create while files change",
  always: "copy.write:1=stop",
  rival: (world) => {
    for (const { location } of world.originals)
      for (const path of readdirSync(location, { recursive: true, encoding: "utf8" }))
        touch(join(location, path));
  },
  verify: async ({ world, sides }) => {
    assert.equal(world.side(sides, "after a crash in create"), "old");
    const [plan] = await world.with(({ plans }) => plans.list());
    if (plan !== undefined)
      await world.with(async ({ plans }) => {
        for (const [index, before] of sides.before.entries())
          assert.deepEqual(treeDifferences(snapshotTree(await plans.path(PLAN, `r${index}`)), before), []);
        assert.deepEqual((await plans.diff(PLAN)).changes, []);
        await plans.cancel(PLAN);
      });
    await assertNothingLeft(world);
  },
};

const DELETED = "deleted";

/** A file is put into a folder that the plan deletes, in the moment it is taken out. */
export const deleteWhileChanging: Scenario = {
  ...apply,
  name: "apply while a deleted folder changes",
  isAsArranged: undefined,
  always: "land.remove:1=stop",
  rival: (world) => writeFileSync(join(firstOriginal(world), DELETED, "of-rival"), "rival\n"),
  verify: async ({ world, sides }) => {
    assert.equal(readFileSync(join(firstOriginal(world), DELETED, "of-rival"), "utf8"), "rival\n");
    assert.ok(existsSync(join(firstOriginal(world), DELETED, "deep/file")), "what was with it is gone");
    await assertLanded(world, sides, DELETED);
  },
};

const MOVED = "kinds";
const CHANGED_IN_IT = "fifo-to-file";

/** The folder in which the first entry is exchanged is moved out of the original in that moment. */
export const landWhileMoving: Scenario = {
  ...apply,
  name: "apply while a folder is moved away",
  isAsArranged: undefined,
  always: "land.exchange:1=stop",
  rival: (world) => renameSync(join(firstOriginal(world), MOVED), movedTo(world)),
  verify: async ({ world, sides, recovery }) => {
    // What was exchanged there is back in the folder, wherever that is, or it is kept and named.
    const named = recovery.finished
      .flatMap(({ attention }) => attention)
      .filter(({ path }) => path === `${MOVED}/${CHANGED_IN_IT}`);
    const places = [join(movedTo(world), CHANGED_IN_IT), ...named.map(({ keptAt }) => keptAt ?? "")];
    assert.ok(places.some(isFifo), `what was there is in none of ${places.join(", ")}`);
    await assertLanded(world, sides, MOVED);
  },
};

const MADE_ANEW = "edit";

/** Where two names can't be exchanged, a path is missing for a moment, in which it is made anew. */
export const landWhileMakingAnew: Scenario = {
  ...apply,
  name: "apply while a missing path is made anew",
  isAsArranged: undefined,
  always: "exchange.in:1=stop",
  rival: (world) => writeFileSync(join(firstOriginal(world), MADE_ANEW), "of the rival\n", { flag: "wx" }),
  verify: async ({ world, sides }) => {
    await assertLanded(world, sides);
    const around = dirname(firstOriginal(world));
    const kept = readdirSync(around, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.parentPath.includes("/slots/"))
      .map(({ name, parentPath }) => readFileSync(join(parentPath, name), "utf8"));
    assert.ok(kept.includes("of the rival\n"), "the rival's version is gone");
    assert.ok(kept.includes(`${MADE_ANEW}\n`), "the version before is gone");
  },
};

/** Everything has landed but for this folder. */
async function assertLanded(world: World, { after }: Sides, folder?: string): Promise<void> {
  const ignore = (path: string) =>
    path === folder || path.startsWith(".drydock-") || path.startsWith(`${folder}/`);
  for (const [index, { location }] of world.originals.entries()) {
    const wanted = new Map([...(after[index] ?? [])].filter(([path]) => !ignore(path)));
    assert.deepEqual(treeDifferences(snapshotTree(location, { ignore }), wanted), [], `original ${index}`);
  }
  assert.equal((await world.with(({ plans }) => plans.show(PLAN))).state, "applied");
}

/** Names that are not UTF-8 are not found, which does not matter here. */
function touch(path: string): void {
  const facts = lstatSync(path, { throwIfNoEntry: false });
  if (facts?.isFile() === true) chmodSync(path, facts.mode & 0o7777);
}

function isFifo(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isFIFO() === true;
}

function firstOriginal({ originals }: World): string {
  return originals[0]?.location ?? assert.fail("there is no original");
}

function movedTo(world: World): string {
  return join(dirname(firstOriginal(world)), "moved-away");
}
