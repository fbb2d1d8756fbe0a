import { tmpdir } from "node:os";
import type { Owner } from "../src/core/owner.ts";
import type { PlanRecord } from "../src/core/plan.ts";
import { splitSecret } from "../src/core/resource/secret-url.ts";
import { openPostgresStore } from "../src/fleet/store/postgres-store.ts";
import type { Store } from "../src/store/store.ts";
import { OWNER, TestPostgres, whyNoServer } from "../test/support/database-servers.ts";
import { answer, compare, type Row } from "./answer.ts";
import { type FleetSize, fillStatements, LARGE, planAt, SMALL } from "./fleet-store.ts";
import { alternate, type Side } from "./measure.ts";

/**
 * Does what a plan costs grow with the plans in the fleet's database, or with the hosts of the fleet? A
 * database with a million plans and the claims of ten thousand hosts is asked the same as one with a thousand
 * plans and ten hosts, on one real server. Both are filled by a script. The open plans are as many in both,
 * because a list of them has to be read whole.
 */
const ROUNDS = 25;
/** One is too short to be measured alone. */
const TIMES = 20;
const BEYOND = "more levels of each index, and less of it in memory";
const BEYOND_CLAIMS = "a claim reads the owners of all claims, to ask whether they live";

const ME: Owner = {
  id: "mine",
  host: "host-0",
  bootId: "b",
  pid: 1,
  startTime: "1",
  command: "drydock plan apply",
};
const DEAD: Owner = { ...ME, id: "dead" };

const missing = whyNoServer("postgres");
if (missing !== undefined) throw new Error(missing);
const server = new TestPostgres(["shared_buffers=256MB", "max_wal_size=4GB"], tmpdir());
try {
  await server.startFilled();
  const [many, few] = [await filled(LARGE), await filled(SMALL)];
  const rows: Row[] = [];
  for (const [what, ask] of Object.entries(questions())) {
    const sides = { many: side(many, LARGE, ask), few: side(few, SMALL, ask) };
    const times = await alternate(ROUNDS, sides);
    const beyond = what.includes("claim") ? BEYOND_CLAIMS : BEYOND;
    rows.push(compare(what, times.many, "of a thousand", times.few, { atMost: 2, beyond }));
  }
  for (const store of [many, few]) store.close();
  answer(rows);
} finally {
  server.remove();
}

/** What is asked of one plan of many: `at` is another number each time, all over the store. */
type Question = (store: Store, plan: PlanRecord, at: number) => Promise<unknown>;

function questions(): { readonly [what: string]: Question } {
  return {
    "of a million plans: one by its id": (store, { id }) => store.plan(id),
    "by a prefix of its id": (store, { id }) => store.findPlans(id.slice(0, -3)),
    "by its name": (store, { name }) => store.findPlans(name),
    "its transactions and history": async (store, { id }) => {
      await store.transactionsOf(id);
      return await store.history(id);
    },
    "the open plans": (store) => store.listPlans("open"),
    "the newest 50 of all": (store) => store.listPlans("all", { limit: 50 }),
    "the last landing": async (store) => {
      for await (const id of store.landedPlanIds()) return id;
      throw new Error("Nothing has landed.");
    },
    "whether anything is unfinished": (store) => store.hasUnfinishedWork(),
    "plans that nobody needs": (store) => store.closedPlanIds("2026-06-01T00:00:00.000Z", 20),
    "write a plan and its history": (store, plan, at) =>
      store.write(
        [
          { put: "plan", record: plan },
          {
            put: "history",
            record: { planId: plan.id, at: plan.createdAt, actor: "bench", event: `${at}`, details: {} },
          },
        ],
        "durable",
      ),
    "claim a plan and a folder, and release them": async (store, plan, at) => {
      const keys = [`plan:${plan.id}`, `path:/srv/host-0/app-${at}`];
      const { granted } = await store.claim(keys, ME, () => true);
      if (!granted) throw new Error("The claim was refused.");
      await store.release(keys, ME);
    },
    "take over the claims of a process that died": async (store, plan, at) => {
      const keys = [`plan:${plan.id}`, `path:/srv/host-0/app-${at}`];
      await store.claim(keys, DEAD, () => true);
      const { granted } = await store.claim(keys, ME, ({ id }) => id !== DEAD.id);
      if (!granted) throw new Error("The claims of a dead process were not taken over.");
      await store.release(keys, ME);
    },
  };
}

/** Fills a database of its own, and opens it as hosts do. */
async function filled(size: FleetSize): Promise<Store> {
  await server.sql(`CREATE DATABASE ${size.database} OWNER ${OWNER.user}`, "postgres");
  const { location, secret } = splitSecret(server.url(size.database));
  const store = await openPostgresStore({ location, secret, patienceMs: 60_000 });
  for (const statement of fillStatements(size)) await server.sql(statement, size.database);
  await server.sql("CHECKPOINT", size.database);
  return store;
}

/** The question, asked a few times of plans all over the store: of old ones, which nobody has in memory. */
function side(store: Store, size: FleetSize, ask: Question): Side {
  let asked = 0;
  return {
    run: async () => {
      for (let time = 0; time < TIMES; time += 1) {
        asked += 1;
        await ask(store, planAt((asked * 7_919) % (size.plans - size.open), size), asked);
      }
    },
  };
}
