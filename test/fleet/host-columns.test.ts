import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { splitSecret } from "../../src/core/resource/secret-url.ts";
import { FleetStore } from "../../src/fleet/store/fleet-store.ts";
import { HostView } from "../../src/fleet/store/host-view.ts";
import { openPostgresRecords } from "../../src/fleet/store/postgres-store.ts";
import { TestPostgres, whyNoServer } from "../support/database-servers.ts";

/** Takes the tables back to what they were before rows had a column for their host. */
const BEFORE_HOST_COLUMNS = `SET search_path TO drydock;
  ALTER TABLE plans DROP COLUMN host; ALTER TABLE sandboxes DROP COLUMN host;
  ALTER TABLE transactions DROP COLUMN host; ALTER TABLE intents DROP COLUMN host;
  CREATE INDEX plans_over ON plans (created_at);
  CREATE INDEX sandboxes_by_workspace ON sandboxes (workspace);
  CREATE INDEX transactions_with_undo ON transactions (finished_at);
  CREATE INDEX transactions_unfinished ON transactions (phase);
  DELETE FROM migrations; INSERT INTO migrations (version) VALUES (2)`;

async function openStore(server: TestPostgres): Promise<FleetStore> {
  const { location, secret } = splitSecret(server.url());
  const login = { location, secret, patienceMs: 30_000 };
  return new FleetStore(await openPostgresRecords(login, new HostView("web1")), false, () => undefined);
}

describe("a fleet's database of before", { skip: whyNoServer("postgres") ?? false }, () => {
  it("[M12] is updated, and a host finds its own rows in it, whatever bytes are in their names", async () => {
    const server = new TestPostgres();
    try {
      await server.startFilled();
      const first = await openStore(server);
      for (const [id, name] of [
        ["P1", "plain"],
        // PostgreSQL takes neither in JSON that it looks into.
        ["P2", "half a pair: \ud800"],
        ["P3", "nothing: \0"],
      ] as const) {
        const owner = { id, host: "web1", bootId: "b", pid: 1, startTime: "1", command: "drydock" };
        const plan = {
          name,
          readOnly: false,
          allowIrreversible: false,
          createdAt: "2026-01-01",
          resources: [],
        };
        const ref = { sandboxId: `${id}-R`, planId: id, resourceId: "R", strategyName: "overlay" };
        const rest = { startedAt: "2026-01-01", participants: [], message: name };
        await first.write(
          [
            { put: "plan", record: { ...plan, id, state: "updating" } },
            {
              put: "sandbox",
              record: { ref: { ...ref, metadata: { name } }, state: "ACTIVE", createdAt: "2026-01-01" },
            },
            {
              put: "transaction",
              record: { ...rest, id, planId: id, direction: "commit", phase: "preparing", owner },
            },
            {
              put: "intent",
              record: {
                ...{ sandboxId: `${id}-R`, planId: id, kind: "folder", location: name },
                ...{ recordedAt: "2026-01-01", owner },
              },
            },
          ],
          "durable",
        );
      }
      first.close();
      while ((await server.sql(SESSIONS)) !== "0");
      await server.sql(BEFORE_HOST_COLUMNS);
      const store = await openStore(server);
      assert.equal((await store.unfinishedPlans()).length, 3);
      assert.equal((await store.liveSandboxes()).length, 3);
      assert.equal((await store.unfinishedTransactions()).length, 3);
      assert.equal((await store.intents()).length, 3);
      store.close();
    } finally {
      server.remove();
    }
  });
});

const SESSIONS = "SELECT count(*) FROM pg_stat_activity WHERE usename = 'owner'";
