import assert from "node:assert/strict";
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { type Point, spread, untried } from "../crash/points.ts";
import { type TestServer, whyNoServer } from "../support/database-servers.ts";
import { IS_LONG, itInLongForm } from "../support/long-form.ts";
import { startServer } from "./held-scene.ts";
import { describeWorkCrashes } from "./held-work-crashes.ts";
import { forEachPoint, killedAt, passedPoints } from "./kill-points.ts";
import { ALL_KINDS, MixedWorld, type WorldOperation } from "./mixed-world.ts";

/** What the folder does by itself has suites of its own; here it only has to be in the middle of it. */
const OF_FOLDERS = ["landings.flush-staged", "land.exchange", "landings.flush-landed", "cleanup.remove"];

/** How many writes of a kind a normal run dies at, evenly spread. */
const WRITES = 2;

/** Where it is decided, and where that is followed. */
const DECISIVE = ["held.prepare", "held.land"];

/** Where recovery begins: with one server prepared and nothing decided; decided, with one server landed. */
const CRASHES = ["held.prepare:2", "held.land:2"] as const;

/** Who passes a point, by what its name begins with; who is in no other suite with servers comes first. */
const PASSED_BY: readonly RegExp[] = [
  /^git[-.]/,
  /^sqlite[.]/,
  /^(?:held|holder|secrets)[.]/,
  /^store[.]/,
  /./,
];

describe("crashes of a plan over PostgreSQL, MariaDB and what is on this machine", {
  skip: whyNoServer("postgres") ?? whyNoServer("mariadb") ?? false,
}, () => {
  let servers: { readonly pg: TestServer; readonly maria: TestServer };
  before(async () => {
    const pg = await startServer("postgres");
    servers = { pg, maria: await startServer("mariadb") };
  });
  after(() => {
    servers?.pg.remove();
    servers?.maria.remove();
  });

  /**
   * All of them in a long run; else each step of a held transaction, and the first and last of those between
   * which it is decided for either server; some writes of the journal and of the holder's record, and one of
   * the rest; after the first operation what none before it died at.
   */
  function chosen(points: readonly Point[]): Point[] {
    if (IS_LONG) return [...points];
    const passesOf = (name: string) => points.filter((point) => point.name === name);
    // A write of the record passes twice; the first is before anything of it.
    const records = passesOf("holder.record").filter(({ pass }) => pass % 2 === 1);
    const written = new Set([...spread(passesOf("store.write"), WRITES), ...spread(records, WRITES)]);
    const telling = points.filter((point) => {
      const { name, pass } = point;
      if (written.has(point)) return true;
      if (DECISIVE.includes(name)) return [passesOf(name)[0], passesOf(name).at(-1)].includes(point);
      if (name.startsWith("held.")) return point === passesOf(name).at(-1);
      if (name === "holder.record") return false;
      return (OF_FOLDERS.includes(name) || /^(?:holder|secrets)[.]/.test(name)) && pass === 1;
    });
    return untried(telling, tried);
  }
  const tried = new Set<string>();

  async function forEach(
    t: TestContext,
    points: readonly Point[],
    act: (world: MixedWorld, at: string) => Promise<void>,
    make = MixedWorld.make,
  ) {
    await forEachPoint(t, points, { make: () => make(servers), act });
  }

  /** What an operation passes in such a world, after a crash of apply or without. */
  async function pointsOf(
    operation: WorldOperation,
    afterCrash?: string,
    make: () => Promise<MixedWorld> = () => MixedWorld.make(servers),
  ): Promise<Point[]> {
    const world = await make();
    try {
      if (afterCrash !== undefined) await killedAt(world, "apply", afterCrash);
      return await passedPoints(world, operation);
    } finally {
      world.remove();
    }
  }

  it("[T2][A3][A7] our process killed at every step of apply: all or nothing, and the work is still there", async (t) => {
    await forEach(t, chosen(await pointsOf("apply")), async (world, at) => {
      await killedAt(world, "apply", at);
      await world.verify(`killed at ${at}`);
    });
  });

  for (const first of CRASHES)
    it(`[T2][A3] our process killed at every step of the recovery from a crash at ${first}`, async (t) => {
      await forEach(t, chosen(await pointsOf("recover", first)), async (world, at) => {
        await killedAt(world, "apply", first);
        await killedAt(world, "recover", at);
        await world.verify(`killed at ${first}, then in recovery at ${at}`);
      });
    });

  for (const operation of ["create", "rollback", "cancel"] as const)
    it(`[C2][A17] our process killed at every step of ${operation}: nothing lands, and nothing unknown is left`, async (t) => {
      const make = operation === "create" ? MixedWorld.withoutPlan : MixedWorld.make;
      const points = (await pointsOf(operation, undefined, () => make(servers))).filter(
        ({ name }) => IS_LONG || /^(?:held|holder|secrets)[.]/.test(name),
      );
      const act = async (world: MixedWorld, at: string) => {
        await killedAt(world, operation, at);
        await world.verifyNothingLanded(`killed at ${at} of ${operation}`);
      };
      await forEach(t, chosen(points), act, make);
    });

  describeWorkCrashes(() => servers);

  it("[T2][A3] the holder killed at every step of apply: all or nothing, and what is gone is said to be gone", async (t) => {
    const held = (await pointsOf("apply")).filter(({ name }) => name.startsWith("held."));
    const last = new Map(held.map((point) => [point.name, point]));
    const [decisive, others] = [true, false].map((is) =>
      [...last.values()].filter(({ name }) => DECISIVE.includes(name) === is),
    );
    const points = IS_LONG ? held : [...(decisive ?? []), ...spread(others ?? [], 2)];
    await forEach(t, points, async (world, at) => {
      await world.drive("apply", { failpoints: `${at}=stop`, whenStopped: () => world.killHolder() });
      await world.verifyWithoutWork(
        `holder killed at ${at}`,
        /work in this sandbox is gone.*Nothing was changed/,
      );
    });
  });

  /**
   * All points in a long run; else of so many participants the point in the middle of those that are passed.
   */
  function oneOfEach(points: readonly Point[], participants: number): Point[] {
    if (IS_LONG) return [...points];
    const groups = Map.groupBy(points, ({ name }) => PASSED_BY.findIndex((names) => names.test(name)));
    return [...groups]
      .filter(([owner]) => owner < participants)
      .map(([, all]) => all[Math.floor(all.length / 2)] as Point);
  }

  const makeAll = () => MixedWorld.make(servers, ALL_KINDS);
  let passedInApply: Promise<Point[]> | undefined;
  const pointsOfAll = () => (passedInApply ??= pointsOf("apply", undefined, makeAll));

  it("[T2][A3][A7] two folders, a checkout, SQLite and both servers, our process killed in apply: all of them or none, and the work is still there", async (t) => {
    const points = oneOfEach(await pointsOfAll(), 3);
    const act = async (world: MixedWorld, at: string) => {
      await killedAt(world, "apply", at);
      await world.verify(`killed at ${at}`);
    };
    await forEachPoint(t, points, { make: makeAll, act });
  });

  for (const first of CRASHES)
    itInLongForm(`[T2][A3] the same plan, our process killed at ${first}, then in recovery`, async (t) => {
      const points = oneOfEach(await pointsOf("recover", first, makeAll), 1);
      const act = async (world: MixedWorld, at: string) => {
        await killedAt(world, "apply", first);
        await killedAt(world, "recover", at);
        await world.verify(`killed at ${first}, then in recovery at ${at}`);
      };
      await forEachPoint(t, points, { make: makeAll, act });
    });

  it("[T1][T2] the same plan, the servers killed in apply and up again: all of them or none, and what is gone is said to be gone", async (t) => {
    const points = await pointsOfAll();
    const chosen = points.filter(({ name, pass }) =>
      IS_LONG ? /^(?:held|store)[.]/.test(name) : CRASHES.some((each) => each === `${name}:${pass}`),
    );
    const act = async (world: MixedWorld, at: string) => {
      const whenStopped = () => whileDown(async () => undefined);
      await world.drive("apply", { failpoints: `${at}=stop`, whenStopped });
      await world.verifyWithoutWork(`servers killed at ${at}`, /Nothing was changed/);
    };
    await forEachPoint(t, chosen, { make: makeAll, act, atOnce: 1 });
  });

  /** Kills both servers as a crash would, does something, and has them up again. */
  async function whileDown(action: () => Promise<void>): Promise<void> {
    await servers.pg.crash();
    await servers.maria.crash();
    try {
      await action();
    } finally {
      await servers.pg.start();
      await servers.maria.start();
    }
  }

  it("[T1] servers killed between prepare and commit: what was decided is finished, and until then only its plan waits", async () => {
    const world = await makeAll();
    try {
      await killedAt(world, "apply", "held.land:1");
      await whileDown(async () => {
        await world.with(async ({ recovery, plans }) => {
          assert.match(recovery.pending[0]?.why ?? "", /can't be reached/);
          assert.equal(recovery.pending[0]?.inDoubt, false);
          const other = mkdtempSync(join(world.stateDir, "../other-"));
          await plans.create({ name: "other", resources: [{ location: other }] });
          await plans.apply("other");
        });
        assert.deepEqual(await world.unfinished(), ["landing"]);
      });
      await world.verify("servers killed after the decision");
    } finally {
      world.remove();
    }
  });

  it("[T1] servers and our processes killed before the decision: everything is rolled back, and the work is said to be gone", async () => {
    const world = await makeAll();
    try {
      // The first is prepared, the second is about to be.
      await killedAt(world, "apply", "held.prepare:2");
      world.killHolder();
      await whileDown(async () => {
        const { pending } = await world.with(async ({ recovery }) => recovery);
        assert.match(pending[0]?.why ?? "", /can't be reached/);
        assert.deepEqual(await world.unfinished(), ["aborting"]);
      });
      const { pending, undone } = await world.with(async ({ recovery }) => recovery);
      assert.deepEqual([pending.length, undone.length], [0, 1]);
      assert.equal(await world.side("in the end"), "old");
      await world.assertNothingPrepared("in the end");
      const { sandboxes } = await world.states();
      assert.deepEqual(sandboxes.slice(-2), ["ERRORED", "ERRORED"]);
      await world.with(({ plans }) => plans.cancel("crash"));
    } finally {
      world.remove();
    }
  });

  it("[T1] a server that is killed takes the work with it, and nothing else: the sandbox says so, and can be used anew", async () => {
    const world = await MixedWorld.make(servers);
    try {
      await whileDown(async () => undefined);
      const { sandboxes, errors } = await world.states();
      assert.deepEqual(sandboxes.slice(-2), ["ERRORED", "ERRORED"]);
      for (const error of errors) assert.match(error, /the server ended its connection.*Nothing was changed/);
      await assert.rejects(
        world.with(({ plans }) => plans.apply("crash")),
        /ERRORED/,
      );
      assert.equal(await world.side("after the servers died"), "old");
      await world.with(({ plans }) => plans.rollback("crash"));
      assert.deepEqual((await world.states()).sandboxes, ["ROLLED_BACK", "ROLLED_BACK", "ROLLED_BACK"]);
    } finally {
      world.remove();
    }
  });

  it("[T4] a prepared transaction that is left behind is found by a scan, and ended by a purge", async () => {
    const world = await MixedWorld.make(servers);
    try {
      await killedAt(world, "apply", "held.land:1");
      // As a state that was put back to another one would have it.
      const planId = await world.forgetCommit();
      const kinds = await world.with(async ({ cleanup }) =>
        (await cleanup.scan()).map(({ kind, location }) => `${kind} ${location}`),
      );
      const prepared = kinds.filter(
        (text) => text.startsWith("prepared transaction") && text.includes(planId),
      );
      assert.equal(prepared.length, 2, kinds.join("\n"));
      const purged = await world.with(({ cleanup }) => cleanup.purge({ force: true }));
      assert.deepEqual(purged.failed, []);
      await world.assertNothingPrepared("after the purge");
      const left = await world.with(async ({ cleanup }) => (await cleanup.scan()).map(({ kind }) => kind));
      assert.ok(!left.some((kind) => /transaction|process|table/.test(kind)), left.join(", "));
    } finally {
      world.remove();
    }
  });

  it("[A4][A5] giving up a landing takes back what it can, and names what has landed for good", async () => {
    const world = await MixedWorld.make(servers);
    try {
      await killedAt(world, "apply", "held.land:2");
      await servers.maria.crash();
      const end = await world.drive("give-up").finally(() => servers.maria.start());
      assert.equal(end.failed, undefined);
      const { undone } = await world.with(async ({ recovery }) => recovery);
      assert.equal(undone.length, 1);
      await world.assertNothingPrepared("after giving up");
      assert.deepEqual(await world.sides(), { local: "old", pg: "new", maria: "old" });
      assert.deepEqual(await world.notUndone(), ["pg"]);
    } finally {
      world.remove();
    }
  });
});
