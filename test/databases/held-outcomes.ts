import assert from "node:assert/strict";
import { it } from "node:test";
import { runDriver } from "../crash/run-driver.ts";
import { OWNER, type TestServer } from "../support/database-servers.ts";
import { HeldScene, type ServerKind } from "./held-scene.ts";

/** What became of a transaction that was prepared, decided, and then ended by somebody else. */
export function describeOutcomes(kind: ServerKind, server: () => TestServer): void {
  /** Ends the only one that is prepared, as an administrator may. */
  async function endByHand(how: "COMMIT" | "ROLLBACK"): Promise<void> {
    const [name = "", ...others] = await server().prepared();
    assert.deepEqual(others, []);
    if (kind === "postgres") {
      await server().sql(`${how} PREPARED '${name}'`);
      return;
    }
    const [, length = "0", , data = ""] = name.split("|");
    await server().sql(
      `XA ${how} '${data.slice(0, Number(length))}','${data.slice(Number(length))}'`,
      "mysql",
    );
  }

  async function decided(scene: HeldScene): Promise<void> {
    await scene.plan();
    await scene.run("UPDATE T SET v = 'landed' WHERE id = 1");
    const request = { operation: "apply", stateDir: scene.stateDir, plan: "p" } as const;
    assert.equal((await runDriver(request, { failpoints: "held.land:1=kill" })).signal, "SIGKILL");
  }

  it("[T1] knows that it was committed by somebody else", async () => {
    await using scene = await HeldScene.make(server());
    await decided(scene);
    await endByHand("COMMIT");
    const { finished, pending } = await scene.with(async ({ recovery }) => recovery);
    assert.deepEqual([finished.map(({ attention }) => attention), pending], [[[]], []]);
    assert.equal(await scene.original(), "1|landed 2|two");
  });

  it("[T1] knows that it was rolled back by another session, and does not say that it has landed", async () => {
    await using scene = await HeldScene.make(server());
    await decided(scene);
    await endByHand("ROLLBACK");
    const { finished, pending } = await scene.with(async ({ recovery }) => recovery);
    assert.deepEqual(finished, []);
    assert.match(pending[0]?.why ?? "", /was rolled back by another session/);
    assert.equal(await scene.original(), "1|one 2|two");
    await scene.with((drydock) => drydock.settle("p", "abort"));
    assert.equal(await scene.original(), "1|one 2|two");
  });

  if (kind === "postgres")
    it("[T1] sees what the server has prepared, whatever the statements have set", async () => {
      await using scene = await HeldScene.make(server());
      await server().sql("CREATE SCHEMA tricky");
      await server().sql("CREATE VIEW tricky.pg_prepared_xacts AS SELECT ''::text AS gid WHERE false");
      await server().sql(`GRANT USAGE ON SCHEMA tricky TO ${OWNER.user}`);
      await scene.plan();
      await scene.run("UPDATE T SET v = 'landed' WHERE id = 1; SET search_path = tricky, pg_catalog, public");
      const { attention } = await scene.with(({ plans }) => plans.apply("p"));
      assert.deepEqual(attention, []);
      assert.equal(await scene.original(), "1|landed 2|two");
      assert.deepEqual(await server().prepared(), []);
    });
}
