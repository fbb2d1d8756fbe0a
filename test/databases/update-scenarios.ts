import assert from "node:assert/strict";
import { DatabaseSync } from "node:sqlite";
import { AtomicCommitError } from "../../src/index.ts";
import { assertNothingLeft, type Scenario } from "../crash/scenarios.ts";
import { PLAN, type World } from "../crash/world.ts";

/**
 * Updates of a plan over a folder and a database. The plan and another writer change a row of the database in
 * different columns, and another in the same one.
 */
const DB = "r1";
const OPEN = "plain/2";
const OURS = "UPDATE plain SET number = 5 WHERE id IN (1, 2); INSERT INTO plain VALUES (7, 'seven', 7, 7)";
const THEIRS =
  "UPDATE plain SET bytes = x'07' WHERE id = 1; UPDATE plain SET number = 6 WHERE id = 2; DELETE FROM plain WHERE id = 3";
const ROWS = "SELECT id || ' ' || number || ' ' || hex(bytes) AS row FROM plain WHERE id < 9 ORDER BY id";
const OF_THEIRS = ["1 1.0 07", "2 6.0 "];
const OF_OURS = ["1 5.0 00FF", "2 5.0 ", "3 -0.5 000000", "7 7.0 37"];
const MERGED = ["1 5.0 07", "2 5.0 ", "7 7.0 37"];

/** The copy is merged or as it was, with its base; the original stays as the other writer left it. */
export const updateDatabase: Scenario = {
  name: "update of a database",
  operation: "update-plan",
  arrange: disputed,
  verify: async ({ world }) => {
    assert.deepEqual(original(world), OF_THEIRS, "the original is touched");
    await world.with(async ({ plans, updates, checkpoints }) => {
      assert.equal((await plans.show(PLAN)).state, "open");
      const rows = rowsOf(await plans.path(PLAN, DB));
      const isMerged = rows.length === MERGED.length;
      assert.deepEqual(rows, isMerged ? MERGED : OF_OURS);
      const saved = (await checkpoints.list(PLAN)).filter(({ before }) => before === "plan update");
      assert.equal(saved.length, isMerged ? 1 : 0, "the checkpoint that takes it back");
      if (isMerged) {
        await checkpoints.restore(PLAN, saved[0]?.id ?? "");
        assert.deepEqual(rowsOf(await plans.path(PLAN, DB)), OF_OURS);
      }
      const { merged, unmerged } = await updates.update(PLAN);
      assert.deepEqual([merged.length, unmerged.map(({ path }) => path)], [1, [OPEN]]);
    });
    await settledAndLanded(world);
  },
};

/** The word counts, or the conflict is still there. */
export const resolveRow: Scenario = {
  name: "resolve of a row",
  operation: "resolve-path",
  more: { conflict: OPEN },
  arrange: updated,
  verify: async ({ world }) => await settledAndLanded(world),
};

/** What updates left goes with the work. */
export const rollbackUpdatedDatabase: Scenario = {
  name: "rollback of an updated database",
  operation: "rollback",
  arrange: updated,
  verify: async ({ world }) => {
    await world.with(async ({ plans }) => {
      await plans.rollback(PLAN);
      assert.deepEqual((await plans.diff(PLAN)).changes, []);
      assert.deepEqual(rowsOf(await plans.path(PLAN, DB)), OF_THEIRS);
      await plans.cancel(PLAN);
    });
    await assertNothingLeft(world);
  },
};

/** The row is out of the plan, or all of the work is there. */
export const takeRowOut: Scenario = {
  name: "rollback of a row",
  operation: "rollback",
  more: { only: [`${DB}:plain/7`] },
  arrange: disputed,
  verify: async ({ world }) => {
    await world.with(async ({ plans }) => {
      assert.equal((await plans.show(PLAN)).state, "open");
      const rows = rowsOf(await plans.path(PLAN, DB));
      const without = OF_OURS.filter((row) => !row.startsWith("7"));
      assert.deepEqual(rows, rows.length === OF_OURS.length ? OF_OURS : without);
      await plans.cancel(PLAN);
    });
    await assertNothingLeft(world);
  },
};

async function disputed(world: World): Promise<string> {
  await world.with(async ({ plans }) => {
    await plans.create({ name: PLAN, resources: world.resources() });
    await plans.sql(PLAN, DB, OURS);
  });
  using db = new DatabaseSync(world.originals[1]?.location ?? "");
  db.exec(THEIRS);
  return "";
}

async function updated(world: World): Promise<string> {
  await disputed(world);
  await world.with(({ updates }) => updates.update(PLAN));
  return "";
}

async function settledAndLanded(world: World): Promise<void> {
  await world.with(async ({ plans, updates }) => {
    assert.equal((await plans.show(PLAN)).state, "open");
    assert.deepEqual(rowsOf(await plans.path(PLAN, DB)), MERGED);
    const { unmerged } = await updates.update(PLAN);
    if (unmerged.length > 0) {
      await assert.rejects(plans.apply(PLAN), AtomicCommitError);
      await updates.resolve(PLAN, { resource: DB, path: OPEN, how: "ours" });
    }
    await plans.apply(PLAN);
    assert.deepEqual(original(world), MERGED);
    await plans.undo(PLAN);
  });
  assert.deepEqual(original(world), OF_THEIRS);
  await assertNothingLeft(world);
}

function original(world: World): string[] {
  return rowsOf(world.originals[1]?.location ?? "");
}

function rowsOf(path: string): string[] {
  using db = new DatabaseSync(path);
  return db
    .prepare(ROWS)
    .all()
    .map(({ row }) => String(row));
}
