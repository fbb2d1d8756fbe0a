import assert from "node:assert/strict";
import { it } from "node:test";
import type { Point } from "../crash/points.ts";
import { PLAN } from "../crash/world.ts";
import type { TestServer } from "../support/database-servers.ts";
import { IS_LONG } from "../support/long-form.ts";
import { forEachPoint, killedAt, passedPoints } from "./kill-points.ts";
import { MixedWorld, type WorldOperation } from "./mixed-world.ts";

type Servers = { readonly [name: string]: TestServer };

/** Something that is done in the sandboxes of a plan, and can die in it. */
interface Work {
  readonly title: string;
  readonly operation: WorldOperation;
  /** Where the holder is asked for it, for the last time: the other server has done it then. */
  readonly asks: Point;
  /** Brings a world with work to where it can begin. */
  arrange(world: MixedWorld): Promise<void>;
  /** After recovery: what is in the sandboxes is whole, and they can be used. */
  verify(world: MixedWorld, when: string): Promise<void>;
}

/** Two statements that add to the work in a table. */
const later = (table: string) =>
  `UPDATE ${table} SET v = 'later' WHERE id = 1; INSERT INTO ${table} VALUES (3, 'later')`;
/** What is in the sandbox of a server before and after them, and by how many statements. */
const BEFORE = "1|new by 2";
const LATER = "1|later 3|later by 4";

function statement(server: string): Work {
  return {
    title: `a statement in ${server}`,
    operation: (table) => ["plan", "sql", PLAN, server, "-c", later(table)],
    asks: { name: "held.run", pass: 1 },
    arrange: async () => undefined,
    verify: async (world, when) => {
      const { [server]: here, ...others } = await databasesOf(world);
      assert.ok(here === BEFORE || here === LATER, `${when}: neither before nor after it: ${here}`);
      assert.deepEqual(new Set(Object.values(others)), new Set([BEFORE]), when);
      await world.assertFolders(false, when);
      if (here === BEFORE) await world.with(({ plans }) => plans.sql(PLAN, server, later(world.table)));
      assert.equal((await databasesOf(world))[server], LATER, `${when}, done again`);
    },
  };
}

function reading(server: string): Work {
  return {
    title: `reading a table in ${server}`,
    operation: (table) => ["plan", "read", PLAN, server, table],
    asks: { name: "held.table", pass: 1 },
    arrange: async () => undefined,
    verify: async (world, when) => {
      await assertAll(world, BEFORE, when);
      const table = await world.with(({ plans }) => plans.read(PLAN, server, world.table));
      assert.equal(Buffer.from(table).toString(), '{"id":1,"v":"new"}\n', `${when}, read again`);
    },
  };
}

const dryRun: Work = {
  title: "a dry run",
  operation: () => ["plan", "apply", PLAN, "--dry-run"],
  asks: { name: "held.check", pass: 2 },
  arrange: async () => undefined,
  verify: async (world, when) => {
    await assertAll(world, BEFORE, when);
    await world.with(({ plans }) => plans.apply(PLAN, { dryRun: true }));
    await assertAll(world, BEFORE, `${when}, tried again`);
  },
};

const saving: Work = {
  title: "a checkpoint",
  operation: "save-plan",
  asks: { name: "held.checkpoint", pass: 2 },
  arrange: async () => undefined,
  verify: async (world, when) => {
    await assertAll(world, BEFORE, when);
    const labels = await labelsOf(world);
    assert.ok(labels.length === 0 || labels.join() === "saved", `${when}: ${labels.join()}`);
    if (labels.length === 0)
      await world.with(({ checkpoints }) => checkpoints.checkpoint(PLAN, { label: "saved" }));
    await workOn(world);
    await world.with(({ checkpoints }) => checkpoints.restore(PLAN, "saved"));
    await assertAll(world, BEFORE, `${when}, restored`);
  },
};

const restoring: Work = {
  title: "a restore",
  operation: "restore-plan",
  asks: { name: "held.restore", pass: 2 },
  arrange: async (world) => {
    await world.with(({ checkpoints }) => checkpoints.checkpoint(PLAN, { label: "good" }));
    await workOn(world);
    await world.with(({ checkpoints }) => checkpoints.checkpoint(PLAN, { label: "later" }));
    await assertAll(world, LATER, "before the restore");
  },
  verify: async (world, when) => {
    const labels = await labelsOf(world);
    const isRestored = labels.join() === "good";
    if (!isRestored) assert.deepEqual(labels, ["good", "later"], when);
    await assertAll(world, isRestored ? BEFORE : LATER, when);
    if (!isRestored) await world.with(({ checkpoints }) => checkpoints.restore(PLAN, "good"));
    await workOn(world);
    await world.with(({ checkpoints }) => checkpoints.restore(PLAN, "good"));
    await assertAll(world, BEFORE, `${when}, restored again`);
  },
};

/** Of what is done in one sandbox, each is tried in that of one server in a short run. */
const ALL: readonly Work[] = [
  statement("pg"),
  reading("maria"),
  dryRun,
  saving,
  restoring,
  ...(IS_LONG ? [statement("maria"), reading("pg")] : []),
];

/**
 * Our process dies in what is done in the sandboxes of an open plan over a folder, PostgreSQL and MariaDB.
 */
export function describeWorkCrashes(servers: () => Servers): void {
  for (const work of ALL)
    it(`[C6][A3][A17] our process killed in ${work.title}: nothing lands, and the work is whole`, async (t) => {
      const make = () => made(servers(), work);
      await forEachPoint(t, await pointsOf(make, work), {
        make,
        act: async (world, at) => {
          await killedAt(world, work.operation, at);
          await verify(world, work, `killed at ${at}`);
        },
      });
    });

  it("[C6][A5] a restore whose process died, and which can't be finished then, is taken back as soon as nothing hinders that", async () => {
    const world = await made(servers(), restoring);
    try {
      // PostgreSQL is restored, MariaDB is not and can't be; meanwhile a row has come that is in the way of
      // what was done after the checkpoint.
      await killedAt(world, "restore-plan", "held.restore:2");
      await servers()["pg"]?.sql(`INSERT INTO ${world.table} VALUES (3, 'rival')`);
      const { done } = await world.drive("recover", { failpoints: "held.restore:2=error" });
      const again = await world.with(async ({ recovery }) => recovery);
      for (const report of [done, again]) assert.match(JSON.stringify(report), /pg: [^"]*duplicate key/);
      await servers()["pg"]?.sql(`DELETE FROM ${world.table} WHERE id = 3`);
      await verify(
        world,
        { ...restoring, verify: async (_, when) => await assertAll(world, LATER, when) },
        "taken back",
      );
    } finally {
      world.remove();
    }
  });
}

async function made(servers: Servers, { arrange }: Work): Promise<MixedWorld> {
  const world = await MixedWorld.make(servers);
  try {
    await arrange(world);
    return world;
  } catch (thrown) {
    world.remove();
    throw thrown;
  }
}

/**
 * All that are passed, in a long run; else where the holder is asked, which is seen by that it dies there.
 */
async function pointsOf(make: () => Promise<MixedWorld>, { operation, asks }: Work): Promise<Point[]> {
  if (!IS_LONG) return [asks];
  const world = await make();
  try {
    return await passedPoints(world, operation);
  } finally {
    world.remove();
  }
}

async function verify(world: MixedWorld, work: Work, when: string): Promise<void> {
  const { pending } = await world.with(async ({ recovery }) => recovery);
  assert.deepEqual(pending, [], when);
  const { plan, sandboxes } = await world.states();
  assert.deepEqual([plan, ...new Set(sandboxes)], ["open", "ACTIVE"], when);
  await work.verify(world, when);
  await world.assertNothingPrepared(when);
  await world.verifyNothingLanded(when);
}

/** Adds to the work in every sandbox. */
async function workOn(world: MixedWorld): Promise<void> {
  await world.with(async ({ plans }) => {
    for (const [index, { later: file }] of world.local.originals.entries())
      await plans.write(PLAN, `r${index}`, file.path, Buffer.from(file.text));
    for (const name of Object.keys(world.servers))
      for (const each of later(world.table).split("; ")) await plans.sql(PLAN, name, each);
  });
}

/**
 * What the sandboxes of the servers hold: what is to be seen in them, and how many statements of ours would
 * land.
 */
async function databasesOf(world: MixedWorld): Promise<{ readonly [name: string]: string }> {
  const { changes } = await world.with(({ plans }) => plans.diff(PLAN));
  const found: { [name: string]: string } = {};
  for (const name of Object.keys(world.servers)) {
    const statements = changes.filter(({ resource }) => resource === name).length;
    found[name] = `${await world.inside(name)} by ${statements}`;
  }
  return found;
}

/** Sees that all sandboxes hold the work as it was before, or as it was later. */
async function assertAll(
  world: MixedWorld,
  expected: typeof BEFORE | typeof LATER,
  when: string,
): Promise<void> {
  assert.deepEqual(new Set(Object.values(await databasesOf(world))), new Set([expected]), when);
  await world.assertFolders(expected === LATER, when);
}

async function labelsOf(world: MixedWorld): Promise<(string | undefined)[]> {
  return await world.with(async ({ checkpoints }) =>
    (await checkpoints.list(PLAN)).map(({ label }) => label),
  );
}
