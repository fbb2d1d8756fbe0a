import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { TestPostgres, whyNoServer } from "../support/database-servers.ts";
import { FilledFleet } from "./filled-fleet.ts";
import { FLEET_QUESTIONS } from "./fleet-questions.ts";
import { TestHost } from "./fleet-scene.ts";

/** What PostgreSQL reads for one question: rows of tables and entries of indexes, and blocks of both. */
interface Read {
  readonly rows: number;
  readonly blocks: number;
}

/**
 * Indexes are a level deeper, and what is asked is on other blocks. In all: services look around while a plan
 * goes on, more often if it takes longer.
 */
const MORE = { times: 2, rows: 20, blocks: 40, inAll: 2000 };

describe("a large fleet", { skip: whyNoServer("postgres") ?? false }, () => {
  let server: TestPostgres;
  let large: FilledFleet;
  let small: FilledFleet;

  before(async () => {
    // What looks after tables meanwhile would be counted too.
    server = new TestPostgres(["autovacuum=off", "shared_buffers=128MB"]);
    await server.startFilled();
    small = await FilledFleet.open(server, { database: "small", plans: 1_000, hosts: 10 });
    large = await FilledFleet.open(server, { database: "large", plans: 100_000, hosts: 1_000 });
  });

  after(() => {
    for (const fleet of [large, small]) fleet?.store.close();
    server?.remove();
  });

  /** What the server reads while this is done, by its own count. */
  async function read(fleet: FilledFleet, action: () => Promise<unknown>): Promise<Read> {
    const before = await counted(fleet);
    await action();
    const after = await counted(fleet);
    return { rows: after.rows - before.rows, blocks: after.blocks - before.blocks };
  }

  async function counted({ records, size }: FilledFleet): Promise<Read> {
    await records.run("SELECT pg_stat_force_next_flush()");
    const [rows, blocks] = (await server.sql(COUNTS, size.database)).split("|").map(Number);
    return { rows: rows ?? 0, blocks: blocks ?? 0 };
  }

  for (const [what, ask] of Object.entries(FLEET_QUESTIONS))
    it(`[M12] reads no more of a large database than of a small one to ${what}`, async () => {
      const reads: { [name: string]: Read } = {};
      for (const fleet of [small, large]) {
        // The first time, the server reads its own catalog.
        await ask(fleet, 1);
        reads[fleet.size.database] = await read(fleet, () => ask(fleet, 2));
      }
      const { small: few, large: many } = reads as { readonly [name in "small" | "large"]: Read };
      assert.ok(many.rows <= MORE.times * few.rows + MORE.rows, `${many.rows} rows, not ${few.rows}`);
      assert.ok(
        many.blocks <= MORE.times * few.blocks + MORE.blocks,
        `${many.blocks} blocks, not ${few.blocks}`,
      );
    });

  it("[M12] reads no more of a large database than of a small one for a plan over two hosts", async () => {
    // A small table is cheaper to read as a whole, which is more rows.
    await server.sql("ALTER DATABASE small SET enable_seqscan = off");
    const reads: Read[] = [];
    for (const fleet of [small, large]) {
      const url = server.url(fleet.size.database);
      using web1 = new TestHost("web1", url);
      using web2 = new TestHost("web2", url);
      try {
        for (const host of [web1, web2]) {
          host.folder("app", { "a.txt": "old\n" });
          await host.up();
        }
        const locations = [`${web1.path}/app`, `worker=web2:${web2.path}/app`].flatMap((each) => [
          "-r",
          each,
        ]);
        const plan = async () => {
          const { id } = web1.answer("plan", "create", ...locations);
          const { status, stderr } = web1.drydock(["plan", "write", id, "worker", "a.txt"], {
            input: "new\n",
          });
          assert.equal(status, 0, stderr);
          for (const command of ["show", "apply", "undo"]) web1.done("plan", command, id);
        };
        await plan();
        reads.push(await read(fleet, plan));
      } finally {
        for (const host of [web1, web2]) await host.kill();
      }
    }
    const [few, many] = reads as [Read, Read];
    assert.ok(many.rows <= few.rows + MORE.inAll, `${many.rows} rows, not ${few.rows}`);
  });
});

const COUNTS = `SELECT
  (SELECT sum(seq_tup_read) FROM pg_stat_user_tables) + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes),
  (SELECT sum(heap_blks_read + heap_blks_hit + coalesce(idx_blks_read + idx_blks_hit, 0)
    + coalesce(toast_blks_read + toast_blks_hit, 0)) FROM pg_statio_user_tables)`;
