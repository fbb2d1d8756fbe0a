import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Owner } from "../../src/core/owner.ts";
import type { PlanRecord } from "../../src/core/plan.ts";
import { splitSecret } from "../../src/core/resource/secret-url.ts";
import { openPostgresStore } from "../../src/fleet/store/postgres-store.ts";
import type { Store, StoreChange } from "../../src/store/store.ts";
import { TestPostgres, whyNoServer } from "../support/database-servers.ts";
import { describeClaims } from "./claims-suite.ts";
import { CutRelay } from "./cut-relay.ts";
import { describeSandboxesOutside } from "./outside-suite.ts";
import { describeRecords } from "./records-suite.ts";
import type { StoreFixture } from "./store-fixture.ts";

const skip = whyNoServer("postgres") ?? false;
const PATIENCE_MS = 30_000;
let server: TestPostgres;

function login(url = server.url(), patienceMs = PATIENCE_MS) {
  const { location, secret } = splitSecret(url);
  return { location, secret, patienceMs };
}

const fixture: StoreFixture = {
  name: "PostgreSQL",
  openEmpty: async () => {
    await server.sql("DROP SCHEMA IF EXISTS drydock CASCADE");
    return await openPostgresStore(login());
  },
  open: async () => await openPostgresStore(login()),
  sql: async (statement) => {
    await server.sql(`SET search_path TO drydock; ${statement}`);
  },
};

/** How many sessions wait for a row. */
const WAITING =
  "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND wait_event <> 'advisory'";
const OWNER: Owner = { id: "owner", host: "web1", bootId: "b", pid: 1, startTime: "1", command: "drydock" };

function plan(id: string, name = `name of ${id}`): PlanRecord {
  const createdAt = "2026-01-01T00:00:00.000Z";
  return { id, name, state: "open", readOnly: false, allowIrreversible: false, createdAt, resources: [] };
}

function told(planId: string, event: string): StoreChange {
  const at = "2026-01-01T00:00:00.000Z";
  return { put: "history", record: { planId, at, actor: "me", event, details: {} } };
}

describe("PostgreSQL as the store", { skip }, () => {
  const warnings: string[] = [];
  const warned = ({ message }: Error) => warnings.push(message);

  before(async () => {
    process.on("warning", warned);
    server = new TestPostgres();
    await server.startFilled();
  });

  after(() => {
    process.off("warning", warned);
    server.remove();
  });

  describeRecords(fixture);
  describeClaims(fixture);
  describeSandboxesOutside(fixture);

  describe("opening it", () => {
    it("[M1] makes its tables once, however many processes open it at the same time", async () => {
      await server.sql("DROP SCHEMA IF EXISTS drydock CASCADE");
      const stores = await Promise.all(Array.from({ length: 6 }, () => openPostgresStore(login())));
      for (const store of stores) assert.deepEqual(await store.listPlans("all"), []);
      for (const store of stores) store.close();
      assert.equal(await server.sql("SELECT count(*) FROM drydock.migrations"), "1");
    });

    it("[M1] makes its tables whole or not at all, also if the process dies at it", async () => {
      await server.sql("DROP SCHEMA IF EXISTS drydock CASCADE");
      const source = join(import.meta.dirname, "../../src");
      const program = `import { openPostgresStore } from ${JSON.stringify(`${source}/fleet/store/postgres-store.ts`)};
        import { armFailpoints } from ${JSON.stringify(`${source}/system/failpoints.ts`)};
        armFailpoints("fleet.migrate=kill");
        await openPostgresStore(${JSON.stringify(login())});
        process.exit();`;
      const { signal } = spawnSync(process.execPath, ["--input-type=module", "-e", program]);
      assert.equal(signal, "SIGKILL");
      const store = await openPostgresStore(login());
      assert.deepEqual(await store.listPlans("all"), []);
      store.close();
    });

    it("[M1] is not updated while an older Drydock uses it", async () => {
      const older = await fixture.openEmpty();
      await server.sql("UPDATE drydock.migrations SET version = 0");
      await assert.rejects(openPostgresStore(login(server.url(), 500)), {
        code: "STATE",
        message: /older Drydock/,
      });
      older.close();
      await server.sql("DROP SCHEMA drydock CASCADE");
    });

    it("refuses a schema of another program and a newer one, and leaves both as they are", async () => {
      await server.sql(
        "DROP SCHEMA IF EXISTS drydock CASCADE; CREATE SCHEMA drydock; CREATE TABLE drydock.theirs ()",
      );
      await assert.rejects(openPostgresStore(login()), {
        code: "STATE",
        message: /belongs to another program/,
      });
      (await fixture.openEmpty()).close();
      await server.sql("INSERT INTO drydock.migrations (version) VALUES (999)");
      await assert.rejects(openPostgresStore(login()), {
        code: "STATE",
        message: /needs schema version 999/,
      });
      assert.equal(await server.sql("SELECT count(*) FROM drydock.plans"), "0");
    });

    it("says that the server can't be reached, and never the password", async () => {
      const wrong = server.url("app", { user: "owner", password: "wrong-Word" });
      await assert.rejects(openPostgresStore(login(wrong, 2000)), (error: Error) => {
        assert.doesNotMatch(`${error.message} ${String(error.cause)}`, /wrong-Word/);
        return true;
      });
      const nowhere = "postgres://owner:s3cret@127.0.0.1:1/app";
      await assert.rejects(openPostgresStore(login(nowhere, 300)), { code: "SERVER_DOWN" });
    });
  });

  describe("a connection that is lost", () => {
    let relay: CutRelay;
    let store: Store;

    beforeEach(async () => {
      (await fixture.openEmpty()).close();
      relay = await CutRelay.to(server);
      store = await openPostgresStore(login(relay.url(server.url())));
    });

    afterEach(async () => {
      store.close();
      await relay.close();
    });

    it("[M1] while a write is on its way: it is there once", async () => {
      relay.cutNext("request");
      await store.write([{ put: "plan", record: plan("P") }, told("P", "created")], "durable");
      assert.equal((await store.history("P")).length, 1);
      assert.equal(relay.cuts, 1);
    });

    it("[M1] while the answer to a write is on its way: it is there once", async () => {
      relay.cutNext("answer");
      await store.write([{ put: "plan", record: plan("P") }, told("P", "created")], "durable");
      assert.equal((await store.history("P")).length, 1);
      assert.equal(relay.cuts, 1);
    });

    it("[M1] while a claim is granted: the owner has it, and no other", async () => {
      relay.cutNext("answer", 2);
      assert.deepEqual(await store.claim(["path:/a"], OWNER, () => true), { granted: true });
      const other = { ...OWNER, id: "other" };
      assert.equal((await store.claim(["path:/a/b"], other, () => true)).granted, false);
      assert.equal(relay.cuts, 1);
    });

    it("[M1] while the server restarts: the next call waits for it", async () => {
      await store.write([{ put: "plan", record: plan("P") }], "durable");
      await server.crash();
      const reading = store.plan("P");
      await server.start();
      assert.deepEqual(await reading, plan("P"));
    });

    it("[M1] for longer than the patience: a clear error, and nothing was written by halves", async () => {
      const impatient = await openPostgresStore(login(relay.url(server.url()), 600));
      relay.refuse();
      const changes: readonly StoreChange[] = [{ put: "plan", record: plan("Q") }, told("Q", "created")];
      await assert.rejects(impatient.write(changes, "durable"), { code: "SERVER_DOWN" });
      impatient.close();
      relay.allow();
      assert.equal(await store.plan("Q"), undefined);
      assert.deepEqual(await store.history("Q"), []);
    });

    it("[M1] and is silent: the wait has an end", async () => {
      const impatient = await openPostgresStore(login(relay.url(server.url()), 600));
      relay.freeze();
      await assert.rejects(impatient.plan("P"), { code: "SERVER_DOWN" });
      impatient.close();
    });
  });

  describe("many at once", () => {
    it("[M1] take their turns on one connection, as its driver wants", async () => {
      const store = await fixture.openEmpty();
      const ids = ["A", "B", "C"];
      await Promise.all(ids.map((id) => store.write([{ put: "plan", record: plan(id) }], "ordered")));
      const found = await Promise.all(ids.map((id) => store.plan(id)));
      assert.deepEqual(
        found.map((each) => each?.id),
        ids,
      );
      store.close();
      assert.deepEqual(warnings, []);
    });

    it("[M1, A14] never grant overlapping claims to two owners", async () => {
      (await fixture.openEmpty()).close();
      const stores = await Promise.all(Array.from({ length: 4 }, () => openPostgresStore(login())));
      let inside = 0;
      let grants = 0;
      const worker = async (store: Store, id: string) => {
        for (let round = 0; round < 40; round += 1) {
          const keys = [round % 2 === 0 ? "path:/a/b" : "path:/a"];
          const owner = { ...OWNER, id };
          if (!(await store.claim(keys, owner, () => true)).granted) continue;
          inside += 1;
          grants += 1;
          assert.equal(inside, 1);
          await store.plan("P");
          inside -= 1;
          await store.release(keys, owner);
        }
      };
      await Promise.all(stores.map((store, number) => worker(store, `owner ${number}`)));
      for (const store of stores) store.close();
      assert.ok(grants > 0);
    });

    it("[M1, P3] a reader of the history never meets a smaller number than one that it has seen", async () => {
      const slow = await fixture.openEmpty();
      const [quick, reader] = [await fixture.open(), await fixture.open()];
      await slow.write([{ put: "plan", record: plan("P") }], "durable");
      const other = new pg.Client({ host: join(server.folder, "own"), user: "admin", database: "app" });
      await other.connect();
      await other.query("BEGIN; SELECT FROM drydock.plans FOR UPDATE");
      // It has its number, and waits for the row.
      const writing = slow.write([told("P", "first"), { put: "plan", record: plan("P") }], "durable");
      while ((await server.sql(WAITING)) === "0") await sleep(5);
      await quick.write([told("Q", "second")], "durable");
      const reading = reader.historyAfter(0, { limit: 10 });
      const first = await Promise.race([reading, sleep(200, undefined)]);
      await other.query("COMMIT");
      await other.end();
      await writing;
      const seen = (first ?? (await reading)).map(({ seq }) => seq);
      const later = await reader.historyAfter(0, { limit: 10 });
      assert.deepEqual(
        seen,
        later.map(({ seq }) => seq).filter((seq) => seq <= (seen.at(-1) ?? 0)),
      );
      assert.equal(later.length, 2);
      assert.equal(await reader.historyEnd(), 2);
      for (const store of [slow, quick, reader]) store.close();
    });
  });
});
