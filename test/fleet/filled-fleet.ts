import type { Owner } from "../../src/core/owner.ts";
import type { PlanRecord } from "../../src/core/plan.ts";
import { splitSecret } from "../../src/core/resource/secret-url.ts";
import type { SandboxRecord } from "../../src/core/sandbox.ts";
import type { TransactionRecord } from "../../src/core/transaction.ts";
import { CallQueue } from "../../src/fleet/link/call-queue.ts";
import { Hosts } from "../../src/fleet/link/hosts.ts";
import { TransactionRows } from "../../src/fleet/link/transaction-rows.ts";
import { FleetStore } from "../../src/fleet/store/fleet-store.ts";
import { HostView } from "../../src/fleet/store/host-view.ts";
import { openPostgresRecords, type PostgresRecords } from "../../src/fleet/store/postgres-store.ts";
import type { HistoryEntry } from "../../src/store/store.ts";
import { OWNER, type TestPostgres } from "../support/database-servers.ts";

/** How much a fleet's database holds. Each host has as many plans, of which as many are open. */
export interface FleetSize {
  readonly database: string;
  readonly plans: number;
  readonly hosts: number;
}

const OPEN_PER_HOST = 20;
/** Stands for the number of a plan in what is repeated for each, and for that of its host. */
const NUMBER = "0000000";
const HOST = "host-@";
const MADE_AT = "2026-01-01T00:00:00.000Z";

/** The records of a large fleet, as the first of its hosts sees them. */
export class FilledFleet {
  readonly size: FleetSize;
  readonly records: PostgresRecords;
  readonly store: FleetStore;
  readonly rows: TransactionRows;
  readonly queue: CallQueue;
  readonly hosts: Hosts;

  /** Makes a database of this size on a server, and opens it as a host does. */
  static async open(server: TestPostgres, size: FleetSize): Promise<FilledFleet> {
    await server.sql(`CREATE DATABASE ${size.database} OWNER ${OWNER.user}`, "postgres");
    const view = new HostView("host-0");
    view.epoch = 1;
    const { location, secret } = splitSecret(server.url(size.database));
    const records = await openPostgresRecords({ location, secret, patienceMs: 60_000 }, view);
    for (const statement of fillStatements(size)) await server.sql(statement, size.database);
    await server.sql("CHECKPOINT", size.database);
    return new FilledFleet(size, records);
  }

  private constructor(size: FleetSize, records: PostgresRecords) {
    this.size = size;
    this.records = records;
    this.store = new FleetStore(records, false, () => undefined);
    this.rows = new TransactionRows(records);
    this.queue = new CallQueue(records);
    this.hosts = new Hosts(records);
  }

  /** A plan of this host that has landed: another one for each number. */
  plan(number: number): PlanRecord {
    const { plans, hosts } = this.size;
    const landed = plans / hosts - OPEN_PER_HOST;
    return JSON.parse(
      JSON.stringify({ ...PLAN, state: "applied" })
        .replaceAll(NUMBER, String((number % landed) * hosts).padStart(NUMBER.length, "0"))
        .replaceAll(`${HOST}:`, "")
        .replaceAll(`,"host":"${HOST}"`, ""),
    ) as PlanRecord;
  }
}

/**
 * The statements that fill a database with tables. Each host has plans with one landed transaction and two
 * entries of the history each, open plans with a sandbox beside its original, the claim of a process, and a
 * call that has been answered; every second one is down, and there a call waits. A tenth of the transactions
 * was one over hosts. Two such have lost their driver.
 */
function fillStatements({ plans, hosts }: FleetSize): readonly string[] {
  const open = hosts * OPEN_PER_HOST;
  const each = `FROM generate_series(0, ${plans - 1}) AS i,
    lpad(i::text, ${NUMBER.length}, '0') AS n, text('host-' || i % ${hosts}) AS h`;
  const eachHost = `FROM generate_series(0, ${hosts - 1}) AS i, text('host-' || i) AS h`;
  const state = `CASE WHEN i < ${plans - open} THEN 'applied' ELSE 'open' END`;
  const planned = `replace(${numbered(PLAN)}, '"state":"open"', '"state":"' || ${state} || '"')`;
  const later = `clock_timestamp() + CASE WHEN i % 2 = 0 THEN interval '1 day' ELSE interval '-1 day' END`;
  const transaction = "id, plan_id, phase, direction, version, driver_host, driver_epoch, driver_process";
  return [
    `SET search_path TO drydock;
    INSERT INTO hosts (name, directory, start, epoch, until) SELECT h, h, 'start', 1, ${later} ${eachHost};
    INSERT INTO plans (id, name, state, created_at, host, record)
      SELECT ${numberedText(PLAN.id)}, ${numberedText(PLAN.name)}, ${state}, '${MADE_AT}', h, ${planned} ${each};
    INSERT INTO sandboxes (id, plan_id, state, created_at, host, workspace, record)
      SELECT ${numberedText(SANDBOX.ref.sandboxId)}, ${numberedText(PLAN.id)}, 'ACTIVE', '${MADE_AT}', h,
      '"/srv/.drydock/' || n || '"', ${numbered(SANDBOX)} ${each} WHERE i >= ${plans - open};
    INSERT INTO transactions
      (id, plan_id, phase, started_at, direction, undo_record, finished_at, host, record)
      SELECT ${numberedText(LANDING.id)}, ${numberedText(PLAN.id)}, 'done', '${MADE_AT}', 'commit', 'discarded',
      '${MADE_AT}', h, ${numbered(LANDING)} ${each} WHERE i < ${plans - open};
    INSERT INTO fleet_transactions (${transaction})
      SELECT ${numberedText(LANDING.id)}, ${numberedText(PLAN.id)}, 'done', 'commit', 9, h, 1, 'gone' ${each}
      WHERE i < ${plans - open} AND i % 10 = 0;
    INSERT INTO transactions (id, plan_id, phase, started_at, direction, host, record)
      SELECT 'lost-' || n, ${numberedText(PLAN.id)}, 'landing', '${MADE_AT}', 'commit', h, ${numbered(LANDING)} ${each}
      WHERE i >= ${plans - 2};
    INSERT INTO fleet_transactions (${transaction})
      SELECT 'lost-' || n, ${numberedText(PLAN.id)}, 'landing', 'commit', 9, 'host-1', 1, 'gone' ${each}
      WHERE i >= ${plans - 2};`,
    ...["created", "applied"].map(
      (event) => `INSERT INTO drydock.history (plan_id, at, event, record)
        SELECT ${numberedText(PLAN.id)}, '${MADE_AT}', '${event}', ${numbered(entry(event))} ${each}`,
    ),
    `INSERT INTO drydock.claims (key, owner_id, is_shared, owner, host, epoch)
      SELECT 'path:/' || h || ':/srv/busy', 'owner ' || i, false,
      replace('${JSON.stringify({ ...LANDING.owner, id: "owner @", host: HOST })}', '@', i::text), h, 1 ${eachHost};
    INSERT INTO drydock.calls (key, host, sender, envelope, is_repeatable, deadline, state)
      SELECT 'answered ' || i, h, 'sender', '{}', false, clock_timestamp(), 'answered' ${eachHost};
    INSERT INTO drydock.calls (key, host, sender, envelope, is_repeatable, deadline, state)
      SELECT 'late ' || i, h, 'sender', '{}', false, clock_timestamp(), 'queued' ${eachHost} WHERE i % 2 = 1`,
    "VACUUM ANALYZE",
  ];
}

/** The process that asks. */
export const ME: Owner = {
  id: "mine",
  host: "host-0",
  bootId: "b",
  pid: 1,
  startTime: "1",
  command: "drydock plan apply",
};

const PLAN: PlanRecord = {
  id: `01KDXR8Q3V7HZ2M9C4T${NUMBER}`,
  name: `fix-${NUMBER}`,
  state: "open",
  readOnly: false,
  allowIrreversible: false,
  createdAt: MADE_AT,
  resources: [
    {
      resource: {
        id: "R",
        name: "app",
        type: "fs-directory",
        location: `${HOST}:/srv/app-${NUMBER}`,
        properties: {},
      },
      strategy: "overlay",
      why: "the strongest that works here",
    },
  ],
  host: HOST,
};

const SANDBOX: SandboxRecord = {
  ref: {
    sandboxId: `${PLAN.id}-R`,
    planId: PLAN.id,
    resourceId: "R",
    strategyName: "overlay",
    metadata: { workspace: `/srv/.drydock/${NUMBER}` },
    host: HOST,
  },
  state: "ACTIVE",
  createdAt: MADE_AT,
};

const LANDING: TransactionRecord = {
  id: `01KDYR8Q3V7HZ2M9C4T${NUMBER}`,
  planId: PLAN.id,
  direction: "commit",
  owner: { ...ME, id: "owner", host: HOST },
  startedAt: MADE_AT,
  finishedAt: MADE_AT,
  phase: "done",
  undoRecord: "discarded",
  participants: [{ ref: SANDBOX.ref, resource: "app", kind: "two-phase", status: "committed", changes: 3 }],
};

function entry(event: string): HistoryEntry {
  return { planId: PLAN.id, at: MADE_AT, actor: "bench", event, details: {} };
}

/** The text with the number `n` of the row and its host `h`, as an expression of SQL. */
function numberedText(text: string): string {
  return `replace(replace('${text}', '${NUMBER}', n), '${HOST}', h)`;
}

function numbered(record: object): string {
  return numberedText(JSON.stringify(record));
}
