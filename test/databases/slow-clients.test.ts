import assert from "node:assert/strict";
import { describe, it } from "node:test";
import mysql from "mysql2/promise";
import { OWNER, whyNoServer } from "../support/database-servers.ts";
import { connectClient, openForClients } from "./client-scene.ts";
import { HeldScene, startServer } from "./held-scene.ts";

const ROWS = 60;
const LONG = "REPEAT('x', 1000000)";

describe("a client that takes nothing of a long answer", () => {
  it("[B2] loses its turn on PostgreSQL when others wait for it, and what it did there", {
    skip: whyNoServer("postgres") ?? false,
  }, async () => {
    const server = await startServer("postgres");
    try {
      await using at = await openForClients(server);
      await using other = await connectClient(at.url);
      const stuck = await connectClient(at.url);
      await stuck.query("BEGIN");
      await stuck.query(`UPDATE ${at.scene.table} SET v = 'stuck'`);
      const asked = stuck.query(`SELECT ${LONG} FROM generate_series(1, ${ROWS})`).then(
        () => "answered",
        () => "ended",
      );
      streamOf(stuck).pause();
      await inTurn(() => other.query(`UPDATE ${at.scene.table} SET v = 'other' WHERE id = 1`));
      streamOf(stuck).resume();
      assert.equal(await asked, "ended");
      assert.equal(await at.scene.inside(), "1|other 2|two");
    } finally {
      server.remove();
    }
  });

  it("[B2] loses its turn on MariaDB when others wait for it, and what it did there", {
    skip: whyNoServer("mariadb") ?? false,
  }, async () => {
    const server = await startServer("mariadb");
    try {
      await using scene = await HeldScene.make(server);
      await scene.plan();
      const { table } = scene;
      const url = String(await scene.with(({ plans }) => plans.path("p", "db")));
      const options = {
        socketPath: new URLSearchParams(url.split("?")[1]).get("socket") ?? "",
        user: OWNER.user,
        password: /:\/\/[^:]*:([^@]*)@/.exec(url)?.[1] ?? "",
        database: "app",
      };
      const [stuck, other] = [await mysql.createConnection(options), await mysql.createConnection(options)];
      stuck.on("error", () => undefined);
      try {
        await stuck.query("BEGIN");
        await stuck.query(`UPDATE ${table} SET v = 'stuck'`);
        const asked = stuck.query(`SELECT ${LONG} FROM seq_1_to_${ROWS}`).then(
          () => "answered",
          () => "ended",
        );
        streamOf(stuck).pause();
        await inTurn(() => other.query(`UPDATE ${table} SET v = 'other' WHERE id = 1`));
        streamOf(stuck).resume();
        assert.equal(await asked, "ended");
        assert.equal(await scene.inside(), "1|other 2|two");
      } finally {
        stuck.destroy();
        other.destroy();
      }
    } finally {
      server.remove();
    }
  });
});

interface Streaming {
  readonly connection: { readonly stream: NodeJS.ReadableStream };
}

function streamOf(client: object): NodeJS.ReadableStream {
  return (client as Streaming).connection.stream;
}

/** A client waits some time for its turn, and may try again. */
async function inTurn(action: () => Promise<unknown>): Promise<void> {
  for (let tries = 1; ; tries += 1)
    try {
      return void (await action());
    } catch (thrown) {
      assert.match((thrown as Error).message, /another client of this plan is at work/);
      if (tries === 3) throw thrown;
    }
}
