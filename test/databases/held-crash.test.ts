import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it, type TestContext } from "node:test";
import { IS_LONG, type Point } from "../crash/points.ts";
import { type TestServer, whyNoServer } from "../support/database-servers.ts";
import { startServer } from "./held-scene.ts";
import { MixedWorld, type WorldOperation } from "./mixed-world.ts";

const AT_ONCE = 3;
const SHOWN = 5;
/** What the folder does by itself has suites of its own; here it only has to be in the middle of it. */
const OF_FOLDERS = ["landings.flush-staged", "land.exchange", "landings.flush-landed", "cleanup.remove"];

describe("crashes of a plan over a folder, PostgreSQL and MariaDB", {
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

  /** The failpoints that something passes, as often as it does. */
  async function trace(world: MixedWorld, operation: WorldOperation): Promise<Point[]> {
    const file = join(world.stateDir, "..", "trace");
    rmSync(file, { force: true });
    const end = await world.drive(operation, { trace: file });
    assert.ok(end.done !== undefined, end.failed?.stack);
    const passes = new Map<string, number>();
    return readFileSync(file, "utf8")
      .split("\n")
      .filter(Boolean)
      .map((line) => {
        const name = line.slice("failpoint ".length);
        passes.set(name, (passes.get(name) ?? 0) + 1);
        return { name, pass: passes.get(name) ?? 0 };
      });
  }

  /** All of them in a long run; else every step of a held transaction, every write of the journal, and some of the rest. */
  function chosen(points: readonly Point[]): Point[] {
    if (IS_LONG) return [...points];
    return points.filter(({ name, pass }) => {
      if (name.startsWith("held.") || name === "store.write") return true;
      // A durable write has four passes; the first is before anything of it.
      if (name === "keeper.record") return pass % 4 === 1;
      return (OF_FOLDERS.includes(name) || /^(?:keeper|secrets)[.]/.test(name)) && pass === 1;
    });
  }

  /** Does this for every point, several at once, each in a world of its own; goes on after a failure. */
  async function forEach(
    t: TestContext,
    points: readonly Point[],
    act: (world: MixedWorld, at: string) => Promise<void>,
    make = MixedWorld.make,
  ) {
    const waiting = [...points];
    const failures: string[] = [];
    const worker = async () => {
      for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
        const at = `${next.name}:${next.pass}`;
        const world = await make(servers);
        try {
          await act(world, at);
        } catch (thrown) {
          failures.push(`${at}: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}`);
        } finally {
          world.remove();
        }
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    t.diagnostic(`${points.length} points`);
    assert.equal(
      failures.length,
      0,
      `${failures.length} of ${points.length} fail:\n${failures.slice(0, SHOWN).join("\n\n")}`,
    );
  }

  async function pointsOf(operation: WorldOperation, afterCrash?: string): Promise<Point[]> {
    const world = await (operation === "create" ? MixedWorld.withoutPlan : MixedWorld.make)(servers);
    try {
      if (afterCrash !== undefined) await killedAt(world, "apply", afterCrash);
      return chosen(await trace(world, operation));
    } finally {
      world.remove();
    }
  }

  async function killedAt(world: MixedWorld, operation: WorldOperation, at: string): Promise<void> {
    const end = await world.drive(operation, { failpoints: `${at}=kill` });
    assert.equal(end.signal, "SIGKILL", `it was not killed at ${at}: ${end.failed?.stack ?? JSON.stringify(end.done)}`);
  }

  it("[T2][A3][A7] our process killed at every step of apply: all or nothing, and the work is still there", async (t) => {
    await forEach(t, await pointsOf("apply"), async (world, at) => {
      await killedAt(world, "apply", at);
      await world.verify(`killed at ${at}`);
    });
  });

  for (const first of ["held.prepare:2", "held.land:2"])
    it(`[T2][A3] our process killed at every step of the recovery from a crash at ${first}`, async (t) => {
      await forEach(t, await pointsOf("recover", first), async (world, at) => {
        await killedAt(world, "apply", first);
        await killedAt(world, "recover", at);
        await world.verify(`killed at ${first}, then in recovery at ${at}`);
      });
    });

  for (const operation of ["create", "rollback", "cancel"] as const)
    it(`[C2][A17] our process killed at every step of ${operation}: nothing lands, and nothing unknown is left`, async (t) => {
      const points = (await pointsOf(operation)).filter(
        ({ name }) => IS_LONG || /^(?:held|keeper|secrets)[.]/.test(name),
      );
      const act = async (world: MixedWorld, at: string) => {
        await killedAt(world, operation, at);
        await world.verifyNothingLanded(`killed at ${at} of ${operation}`);
      };
      await forEach(t, points, act, operation === "create" ? MixedWorld.withoutPlan : MixedWorld.make);
    });

  it("[T2][A3] the keeper killed at every step of apply: all or nothing, and what is gone is said to be gone", async (t) => {
    const points = (await pointsOf("apply")).filter(({ name }) => name.startsWith("held."));
    await forEach(t, points, async (world, at) => {
      await world.drive("apply", { failpoints: `${at}=stop`, whenStopped: () => world.killKeeper() });
      const { pending } = await world.with(async ({ recovery }) => recovery);
      assert.deepEqual(pending, [], at);
      const side = await world.side(`keeper killed at ${at}`);
      await world.assertNothingPrepared(at);
      const { plan, sandboxes, errors } = await world.states();
      if (side === "new") return assert.equal(plan, "applied", at);
      assert.equal(plan, "open", at);
      assert.deepEqual(sandboxes.slice(1), ["ERRORED", "ERRORED"], at);
      for (const error of errors) assert.match(error, /work in this sandbox is gone.*Nothing was changed/);
    });
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
    const world = await MixedWorld.make(servers);
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
    const world = await MixedWorld.make(servers);
    try {
      // The first is prepared, the second is about to be.
      await killedAt(world, "apply", "held.prepare:2");
      world.killKeeper();
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
      assert.deepEqual(sandboxes.slice(1), ["ERRORED", "ERRORED"]);
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
      assert.deepEqual(sandboxes.slice(1), ["ERRORED", "ERRORED"]);
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
      const prepared = kinds.filter((text) => text.startsWith("prepared transaction") && text.includes(planId));
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
      assert.deepEqual(await world.sides(), { files: "old", pg: "new", maria: "old" });
      assert.deepEqual(await world.notUndone(), ["pg"]);
    } finally {
      world.remove();
    }
  });
});
