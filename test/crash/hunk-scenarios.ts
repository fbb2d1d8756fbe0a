import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { assertNothingLeft, type Scenario } from "./scenarios.ts";
import { PLAN, type World } from "./world.ts";

function linesWith(changed: readonly number[]): string {
  const lines = Array.from({ length: 30 }, (_, at) => `${changed.includes(at) ? "new" : "old"} ${at}\n`);
  return lines.join("");
}

const [BEFORE, APPROVED, ALL] = [linesWith([]), linesWith([3, 27]), linesWith([3, 15, 27])];

function texts(world: World): string[] {
  return world.originals.map(({ location }) => readFileSync(join(location, "long"), "utf8"));
}

/** Of a file in each original, two of three hunks are approved; all other changes have no vote. */
export const applyHunks: Scenario = {
  name: "apply of hunks",
  operation: "apply",
  more: { approvedPart: true },
  arrange: async (world) => {
    for (const { location } of world.originals) writeFileSync(join(location, "long"), BEFORE);
    await world.plan();
    return await world.with(async ({ plans, reviews }) => {
      const review = await reviews();
      for (const { name: resource } of world.resources()) {
        await plans.write(PLAN, resource, "long", Buffer.from(ALL));
        const { digest, hunks } = await review.hunks(PLAN, { resource, path: "long" });
        const ids = [hunks[0]?.id ?? "", hunks[2]?.id ?? ""];
        await review.vote(PLAN, { vote: "approved", targets: ids.map((hunk) => ({ digest, hunk })) });
      }
      return (await plans.diff(PLAN)).digest;
    });
  },
  verify: async ({ world }) => {
    const [side = "", ...others] = texts(world);
    assert.ok([BEFORE, APPROVED].includes(side), side);
    assert.ok(
      others.every((other) => other === side),
      "the originals are not on the same side",
    );
    await world.with(async ({ plans, reviews }) => {
      const left = side === BEFORE ? 3 : 1;
      for (const { name: resource } of world.resources()) {
        assert.equal(Buffer.from(await plans.read(PLAN, resource, "long")).toString(), ALL);
        const { hunks } = await (await reviews()).hunks(PLAN, { resource, path: "long" });
        assert.equal(hunks.length, left);
      }
      const { attention } = await plans.apply(PLAN);
      assert.deepEqual(attention, []);
      assert.deepEqual(
        texts(world),
        world.originals.map(() => ALL),
      );
      for (let { state } = await plans.undo(PLAN); state !== "undone"; { state } = await plans.undo(PLAN));
    });
    assert.deepEqual(
      texts(world),
      world.originals.map(() => BEFORE),
    );
    await assertNothingLeft(world);
  },
};
