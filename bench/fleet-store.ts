import type { PlanRecord } from "../src/core/plan.ts";
import type { TransactionRecord } from "../src/core/transaction.ts";
import type { HistoryEntry } from "../src/store/store.ts";

/** How much a fleet's database holds. */
export interface FleetSize {
  readonly database: string;
  readonly plans: number;
  /** Of them, the newest. */
  readonly open: number;
  readonly hosts: number;
}

const OPEN = 200;
export const LARGE: FleetSize = { database: "large", plans: 1_000_000, open: OPEN, hosts: 10_000 };
export const SMALL: FleetSize = { database: "small", plans: 1_000, open: OPEN, hosts: 10 };

/** Stands for the number of a plan in what is repeated for each. */
const NUMBER = "0000000";
const MADE_AT = "2026-01-01T00:00:00.000Z";

/** The plan of this number. */
export function planAt(number: number, { plans, open }: FleetSize): PlanRecord {
  const state = number >= plans - open ? "open" : "applied";
  return { ...PLAN, id: numbered(PLAN.id, number), name: numbered(PLAN.name, number), state };
}

/**
 * The statements that fill a database with tables: plans with one landed transaction and two entries of the
 * history each, and claims of one process on each host.
 */
export function fillStatements({ plans, open, hosts }: FleetSize): readonly string[] {
  const each = `FROM generate_series(0, ${plans - 1}) AS i, lpad(i::text, ${NUMBER.length}, '0') AS n`;
  const state = `CASE WHEN i < ${plans - open} THEN 'applied' ELSE 'open' END`;
  const planned = `replace(${sqlNumbered(PLAN)}, '"state":"open"', '"state":"' || ${state} || '"')`;
  return [
    `INSERT INTO drydock.plans (id, name, state, created_at, record)
      SELECT ${sqlText(PLAN.id)}, ${sqlText(PLAN.name)}, ${state}, '${MADE_AT}', ${planned} ${each}`,
    `INSERT INTO drydock.transactions (id, plan_id, phase, started_at, direction, undo_record, finished_at, record)
      SELECT ${sqlText(LANDING.id)}, ${sqlText(PLAN.id)}, 'done', '${MADE_AT}', 'commit', 'discarded', '${MADE_AT}',
      ${sqlNumbered(LANDING)} ${each} WHERE i < ${plans - open}`,
    ...["created", "applied"].map(
      (event) => `INSERT INTO drydock.history (plan_id, at, event, record)
        SELECT ${sqlText(PLAN.id)}, '${MADE_AT}', '${event}', ${sqlNumbered(entry(event))} ${each}`,
    ),
    `INSERT INTO drydock.claims (key, owner_id, is_shared, owner)
      SELECT 'path:/srv/host-' || i || '/busy', 'owner ' || i, false,
      replace('${JSON.stringify({ ...LANDING.owner, id: "owner @", host: "host-@" })}', '@', i::text)
      FROM generate_series(1, ${hosts}) AS i`,
    "VACUUM ANALYZE",
  ];
}

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
        location: `/srv/app-${NUMBER}`,
        properties: {},
      },
      strategy: "overlay",
      why: "the strongest that works here",
    },
  ],
};

const LANDING: TransactionRecord = {
  id: `01KDYR8Q3V7HZ2M9C4T${NUMBER}`,
  planId: PLAN.id,
  direction: "commit",
  owner: { id: "owner", host: "web1", bootId: "b", pid: 1, startTime: "1", command: "drydock plan apply" },
  startedAt: MADE_AT,
  finishedAt: MADE_AT,
  phase: "done",
  undoRecord: "discarded",
  participants: [
    {
      ref: {
        sandboxId: `${PLAN.id}-R`,
        planId: PLAN.id,
        resourceId: "R",
        strategyName: "overlay",
        metadata: {},
      },
      resource: "app",
      kind: "two-phase",
      status: "committed",
      changes: 3,
    },
  ],
};

function entry(event: string): HistoryEntry {
  return { planId: PLAN.id, at: MADE_AT, actor: "bench", event, details: {} };
}

function numbered(text: string, number: number): string {
  return text.replace(NUMBER, String(number).padStart(NUMBER.length, "0"));
}

/** The text with the number `n` of the row, as an expression of SQL. */
function sqlText(text: string): string {
  return `replace('${text}', '${NUMBER}', n)`;
}

function sqlNumbered(record: object): string {
  return sqlText(JSON.stringify(record));
}
