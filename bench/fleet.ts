import { tmpdir } from "node:os";
import { FilledFleet, type FleetSize } from "../test/fleet/filled-fleet.ts";
import { FLEET_QUESTIONS } from "../test/fleet/fleet-questions.ts";
import { TestPostgres, whyNoServer } from "../test/support/database-servers.ts";
import { answer, compare, type Row } from "./answer.ts";
import { hostRows } from "./fleet-hosts.ts";
import { alternate, type Side } from "./measure.ts";

/**
 * Does what a plan costs grow with the plans in the fleet's database, or with the hosts of the fleet? A
 * database with a million plans of ten thousand hosts is asked the same as one with a thousand plans of ten
 * hosts, on one real server. Both are filled by a script. A host has as much of its own in both.
 *
 * And how many plans per second does a fleet land (fleet-hosts.ts)?
 */
const LARGE: FleetSize = { database: "large", plans: 1_000_000, hosts: 10_000 };
const SMALL: FleetSize = { database: "small", plans: 1_000, hosts: 10 };
const ROUNDS = 25;
/** One is too short to be measured alone. */
const TIMES = 20;
const BEYOND = "more levels of each index, and less of it in memory";

const missing = whyNoServer("postgres");
if (missing !== undefined) throw new Error(missing);
const server = new TestPostgres(["shared_buffers=256MB", "max_wal_size=4GB"], tmpdir());
try {
  await server.startFilled();
  const [many, few] = [await FilledFleet.open(server, LARGE), await FilledFleet.open(server, SMALL)];
  const rows: Row[] = [];
  for (const [what, ask] of Object.entries(FLEET_QUESTIONS)) {
    const times = await alternate(ROUNDS, { many: side(many, ask), few: side(few, ask) });
    const title = rows.length === 0 ? `of a million plans and 10,000 hosts: ${what}` : what;
    const peer = rows.length === 0 ? "of 1,000 and 10" : "";
    rows.push(compare(title, times.many, peer, times.few, { atMost: 2, beyond: BEYOND }));
  }
  for (const { store } of [many, few]) store.close();
  answer([...rows, ...(await hostRows(server))]);
} finally {
  server.remove();
}

/** The question, asked a few times of plans all over the store: of old ones, which nobody has in memory. */
function side(fleet: FilledFleet, ask: (typeof FLEET_QUESTIONS)[string]): Side {
  let asked = 0;
  return {
    run: async () => {
      for (let time = 0; time < TIMES; time += 1) {
        asked += 1;
        await ask(fleet, asked * 17);
      }
    },
  };
}
