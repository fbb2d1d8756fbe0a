import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { type TestServer, whyNoServer } from "../support/database-servers.ts";
import { cancel, connectClient, openForClients } from "./client-scene.ts";
import { startServer } from "./held-scene.ts";

describe("requests of PostgreSQL clients outside of a transaction", {
  skip: whyNoServer("postgres") ?? false,
}, () => {
  let server: TestServer;
  before(async () => {
    server = await startServer("postgres");
  });
  after(() => server?.remove());

  const open = async () => await openForClients(server);

  it("[B2] stay one by one, whatever fails between them, there or elsewhere", async () => {
    await using at = await open();
    await using client = await connectClient(at.url);
    const { scene } = at;
    const add = async (id: number) =>
      await client.query(`INSERT INTO ${scene.table} VALUES ($1, $2)`, [id, "new"]);
    const rows: number[] = [];
    const addSome = async (from: number, to: number) => {
      for (let id = from; id < to; id += 1) {
        await add(id);
        rows.push(id);
        if (id % 5 === 0) await assert.rejects(add(id), { code: "23505" });
        if (id % 7 === 0) await assert.rejects(scene.run("DELETE FROM T; SELECT 1 / 0"), /division by zero/);
      }
    };
    const there = async () => (await scene.inside()).split(" ").map((row) => Number(row.split("|", 1)[0]));
    await addSome(10, 50);
    assert.deepEqual(await there(), [1, 2, ...rows]);
    await scene.with(({ checkpoints }) => checkpoints.checkpoint("p", { label: "good" }));
    const before = [...rows];
    await addSome(50, 75);
    await scene.with(({ checkpoints }) => checkpoints.restore("p", "good"));
    assert.deepEqual(await there(), [1, 2, ...before]);
    rows.splice(0, rows.length, ...before);
    await addSome(80, 100);
    await scene.with(({ plans }) => plans.apply("p"));
    const landed = (
      await server.sql(`SELECT string_agg(id::text, ' ' ORDER BY id) FROM ${scene.table}`)
    ).trim();
    assert.equal(landed, [1, 2, ...rows].join(" "));
  });

  it("[B3] are shown if they write, also where they seem to read only, and no others", async () => {
    await server.sql("CREATE SEQUENCE told; CREATE TABLE noted (n int)");
    await server.sql(`CREATE FUNCTION note(n int) RETURNS int LANGUAGE sql AS 'INSERT INTO noted VALUES (n);
      SELECT n'; GRANT ALL ON noted, told TO PUBLIC`);
    await using at = await open();
    await using client = await connectClient(at.url);
    const expected: number[] = [];
    let n = 0;
    const next = () => {
      n += 1;
      return n;
    };
    const look = async () => await client.query("SELECT $1::int", [next()]);
    const write = async () => {
      expected.push(next());
      await client.query("SELECT note($1)", [n]);
    };
    const insert = async () => {
      expected.push(next());
      await client.query("INSERT INTO noted VALUES ($1)", [n]);
    };
    const steps = [look, look, write, look, insert, look, insert, write, look, write, write, look];
    for (let round = 0; round < 4; round += 1) {
      for (const step of steps) await step();
      await at.scene.with(({ checkpoints }) => checkpoints.checkpoint("p"));
      await assert.rejects(client.query("SELECT note($1) / 0", [0]), { code: "22012" });
      await look();
    }
    const { changes } = await at.scene.with(({ plans }) => plans.diff("p"));
    const shown = changes.map(({ statement }) => Number(/\$1 = '(\d+)'/.exec(statement ?? "")?.[1]));
    assert.deepEqual(shown, expected);
  });

  it("[B2] that are cancelled at any moment have happened, or have not, and the others are not harmed", async () => {
    await using at = await open();
    await using client = await connectClient(at.url);
    const { table } = at.scene;
    const kept = [1, 2];
    for (let id = 10; id < 130; id += 1) {
      const asked = client.query(
        `INSERT INTO ${table} SELECT $1::int, count(*) FROM generate_series(1, 500)`,
        [id],
      );
      const done = asked.then(
        () => true,
        (error: { readonly code?: string }) => assert.equal(error.code, "57014"),
      );
      await sleep((id % 12) / 4);
      await cancel(client);
      if ((await done) === true) kept.push(id);
      const { rows } = await client.query(`SELECT count(*)::int AS n FROM ${table}`);
      assert.equal(rows[0].n, kept.length, `after ${id}`);
    }
    assert.ok(kept.length > 2);
    await at.scene.with(({ plans }) => plans.apply("p"));
    const landed = (await server.sql(`SELECT string_agg(id::text, ' ' ORDER BY id) FROM ${table}`)).trim();
    assert.equal(landed, kept.join(" "));
  });
});
