import assert from "node:assert/strict";
import { chmodSync, existsSync, readFileSync, renameSync, statSync } from "node:fs";
import { join } from "node:path";
import { treeDifferences } from "../support/tree-snapshot.ts";
import { assertNothingLeft, leftBesidesUndo, type Recovered, type Scenario } from "./scenarios.ts";
import { PLAN, type Sides, World, type WorldOptions } from "./world.ts";

/** Something of all that can be in a folder, and something of each kind that stays in the plan. */
const RICH = [
  "plain-*",
  "links",
  "replaced",
  "deleted",
  "read-only",
  "folder-mode",
  "kinds/f*",
  "edit",
  "folder/new",
];
/** The same of small trees. */
const SMALL = ["edit", "gone", "mode", "folder/new"];

/** Landing a part of the plan, and taking one back, over originals as of these options. */
export function partScenarios(options: WorldOptions): {
  readonly applyPart: Scenario;
  readonly undoPart: Scenario;
} {
  const only = options.isSmall === true ? SMALL : RICH;
  let expected: Promise<Landed> | undefined;
  const landed = () => {
    expected ??= landUndisturbed(options, only);
    return expected;
  };
  return {
    applyPart: {
      name: "apply of a part",
      operation: "apply",
      more: { only },
      arrange: (world) => world.plan(),
      verify: async (recovered) => {
        const side = await sideOf(recovered, await landed());
        await goOn(recovered, side, only, await landed());
      },
    },
    undoPart: {
      name: "undo of a part",
      operation: "undo",
      arrange: async (world) => {
        const digest = await world.plan();
        await world.with(async ({ plans }) => {
          await plans.apply(PLAN, { only });
          // Changed and changed back: there is no work here, but an overlay has a copy in its upper layer.
          const edit = join(await plans.path(PLAN, "r1"), "edit");
          chmodSync(edit, statSync(edit).mode & 0o7777);
        });
        return digest;
      },
      verify: async (recovered) => {
        const side = await sideOf(recovered, await landed());
        await goOn(recovered, side, only, await landed());
      },
    },
  };
}

/**
 * Of a file that was moved only that it is gone from where it was lands; where it is now follows later. Of
 * small trees.
 */
export const applyPartOfMove: Scenario = {
  name: "apply of a part of a move",
  operation: "apply",
  more: { only: ["same"] },
  arrange: async (world) => {
    await world.plan();
    return await world.with(async ({ plans }) => {
      for (const { name } of world.resources()) {
        const path = await plans.path(PLAN, name);
        renameSync(join(path, "same"), join(path, "moved"));
      }
      return (await plans.diff(PLAN)).digest;
    });
  },
  verify: async ({ world, sides }) => {
    const isThere = world.originals.map(({ location }) => existsSync(join(location, "same")));
    assert.equal(new Set(isThere).size, 1, "the originals are not on the same side");
    await world.with(async ({ plans }) => {
      const { changes } = await plans.diff(PLAN, { paths: ["same", "moved"] });
      const each = isThere[0] === true ? ["added moved", "deleted same"] : ["added moved"];
      assert.deepEqual(
        changes.map(({ operation, path }) => `${operation} ${path}`),
        world.originals.flatMap(() => each),
      );
      const { attention } = await plans.apply(PLAN);
      assert.deepEqual(attention, []);
      for (const { location } of world.originals) {
        assert.equal(existsSync(join(location, "same")), false);
        assert.equal(readFileSync(join(location, "moved"), "utf8"), "same\n");
      }
      for (let { state } = await plans.undo(PLAN); state !== "undone"; { state } = await plans.undo(PLAN));
    });
    assert.equal(world.side(sides, "after all undos"), "old");
    await assertNothingLeft(world);
  },
};

interface Landed {
  /** What the originals are when the part has landed. */
  readonly snapshots: Sides["before"];
  /** What is left to land then. */
  readonly rest: readonly string[];
}

/**
 * Finds out in a world that nobody disturbs. That it is exact, is known from test/properties/landing.test.ts.
 */
async function landUndisturbed(options: WorldOptions, only: readonly string[]): Promise<Landed> {
  const world = new World(options);
  try {
    await world.plan();
    await world.with(({ plans }) => plans.apply(PLAN, { only }));
    return { snapshots: world.snapshots(), rest: await pathsOf(world) };
  } finally {
    await world.with(({ plans }) => plans.cancel(PLAN));
    world.remove();
  }
}

/**
 * The originals are all as before, or all as when the part has landed; the plan is open, and the sandboxes
 * show what they always did.
 */
async function sideOf({ world, sides, digest }: Recovered, landed: Landed): Promise<"old" | "part"> {
  const side = world.side({ before: sides.before, after: landed.snapshots }, "after a crash over a part");
  await world.with(async ({ plans }) => assert.equal((await plans.show(PLAN)).state, "open"));
  await assertWork(world, sides);
  if (side === "new") assert.deepEqual(await pathsOf(world), landed.rest, "what is left to land");
  else
    assert.equal(
      await world.with(async ({ plans }) => (await plans.diff(PLAN)).digest),
      digest,
      "the work is another",
    );
  return side === "new" ? "part" : "old";
}

/** There and back once more, then all of it, and all of it back. */
async function goOn(
  { world, sides, digest }: Recovered,
  side: "old" | "part",
  only: readonly string[],
  landed: Landed,
): Promise<void> {
  const both = { before: sides.before, after: landed.snapshots };
  if (side === "part") await world.with(({ plans }) => plans.undo(PLAN));
  assert.equal(world.side(both, "after the undo of the part"), "old");
  assert.equal(
    await world.with(async ({ plans }) => (await plans.diff(PLAN)).digest),
    digest,
    "the work after the undo",
  );
  const { attention, warnings } = await world.with(({ plans }) => plans.apply(PLAN, { only }));
  assert.deepEqual([attention, warnings], [[], []], "landing the part again");
  assert.equal(world.side(both, "after landing the part again"), "new");
  await world.with(({ plans }) => plans.apply(PLAN));
  assert.equal(world.side(sides, "after landing the rest"), "new");
  assert.deepEqual(leftBesidesUndo(world), [], "left behind by both landings");
  await world.with(async ({ plans }) => {
    assert.equal((await plans.undo(PLAN)).state, "applied");
    assert.equal((await plans.undo(PLAN)).state, "undone");
  });
  assert.equal(world.side(sides, "after both undos"), "old");
  await assertNothingLeft(world);
}

async function assertWork(world: World, { after }: Sides): Promise<void> {
  await world.with(async ({ plans }) => {
    for (const [index, { snapshot }] of world.originals.entries()) {
      const work = snapshot(await plans.path(PLAN, `r${index}`));
      assert.deepEqual(
        treeDifferences(work, after[index] ?? new Map()),
        [],
        "the sandbox does not show its work",
      );
    }
  });
}

async function pathsOf(world: World): Promise<string[]> {
  return await world.with(async ({ plans }) =>
    (await plans.diff(PLAN)).changes.map(({ resource, path }) => `${resource}:${path}`),
  );
}
