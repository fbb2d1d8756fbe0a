import { setTimeout as sleep } from "node:timers/promises";
import type { Client as PostgresClient } from "pg";
import { StateError } from "../../core/errors/errors.ts";
import type { ServerLogin } from "../../database/server/server-database.ts";
import { failpoint, passFailpoint } from "../../system/failpoints.ts";
import { milliseconds } from "../../system/milliseconds.ts";
import { LOCKS } from "./advisory-locks.ts";
import { FLEET_TABLES, HOST_COLUMNS } from "./fleet-tables.ts";
import { type Rows, rowsOf } from "./postgres-session.ts";

/**
 * The tables of the store in PostgreSQL. They are those of SQLite (src/store/schema.ts), with columns for the
 * facts inside of records: PostgreSQL can't look into JSON in which half a pair or NUL stands for a byte of a
 * file's name. All text compares by its bytes.
 *
 * `writes` has a row for each write. A write that is repeated because its outcome is not known finds its row,
 * or waits for the transaction that is about to add it.
 *
 * A released migration is never edited; a later one corrects it.
 */
const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE plans (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    name text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    created_at text COLLATE "C" NOT NULL,
    record text NOT NULL
  );
  CREATE INDEX plans_by_id_prefix ON plans (upper(id));
  CREATE INDEX plans_by_name ON plans (name);
  CREATE INDEX plans_by_age ON plans (created_at, seq);
  CREATE INDEX plans_open ON plans (created_at, seq)
    WHERE state NOT IN ('applied', 'undone', 'cancelled', 'abandoned');
  CREATE INDEX plans_over ON plans (created_at) WHERE state IN ('applied', 'undone', 'cancelled', 'abandoned');

  CREATE TABLE sandboxes (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    plan_id text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    created_at text COLLATE "C" NOT NULL,
    workspace text COLLATE "C",
    record text NOT NULL
  );
  CREATE INDEX sandboxes_by_plan ON sandboxes (plan_id);
  CREATE INDEX sandboxes_live ON sandboxes (state) WHERE state <> 'CLEANED_UP';
  CREATE INDEX sandboxes_by_workspace ON sandboxes (workspace) WHERE state <> 'CLEANED_UP';

  CREATE TABLE transactions (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    plan_id text COLLATE "C" NOT NULL,
    phase text COLLATE "C" NOT NULL,
    started_at text COLLATE "C" NOT NULL,
    direction text COLLATE "C" NOT NULL,
    undo_record text COLLATE "C",
    finished_at text COLLATE "C",
    record text NOT NULL
  );
  CREATE INDEX transactions_by_plan ON transactions (plan_id);
  CREATE INDEX transactions_unfinished ON transactions (phase) WHERE phase NOT IN ('done', 'aborted');
  CREATE INDEX transactions_with_undo ON transactions (finished_at)
    WHERE phase = 'done' AND direction = 'commit' AND coalesce(undo_record, 'discarding') = 'discarding';
  CREATE INDEX transactions_landed ON transactions (coalesce(finished_at, started_at), seq)
    WHERE phase IN ('landed', 'done') AND direction = 'commit' AND coalesce(undo_record, '') <> 'used';

  CREATE TABLE checkpoints (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id text COLLATE "C" NOT NULL UNIQUE,
    plan_id text COLLATE "C" NOT NULL,
    state text COLLATE "C" NOT NULL,
    record text NOT NULL
  );
  CREATE INDEX checkpoints_by_plan ON checkpoints (plan_id);
  CREATE INDEX checkpoints_unfinished ON checkpoints (state) WHERE state <> 'saved';

  CREATE TABLE intents (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    sandbox_id text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    location text COLLATE "C" NOT NULL,
    record text NOT NULL,
    UNIQUE (sandbox_id, kind, location)
  );

  CREATE TABLE history (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    plan_id text COLLATE "C" NOT NULL,
    at text COLLATE "C" NOT NULL,
    event text COLLATE "C" NOT NULL,
    record text NOT NULL
  );
  CREATE INDEX history_by_plan ON history (plan_id, seq);

  CREATE TABLE claims (
    key text COLLATE "C" NOT NULL,
    owner_id text COLLATE "C" NOT NULL,
    is_shared boolean NOT NULL,
    owner text NOT NULL,
    PRIMARY KEY (key, owner_id, is_shared)
  );
  CREATE INDEX claims_by_owner ON claims (owner_id);

  CREATE TABLE writes (
    id uuid PRIMARY KEY,
    written_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE INDEX writes_by_age ON writes (written_at);
  `,
  FLEET_TABLES,
  HOST_COLUMNS,
];

/** The version that this Drydock writes. */
const SCHEMA_VERSION = MIGRATIONS.length;

/**
 * Brings the database to the newest version, and keeps others from changing that while this connection lives:
 * each connection shares a lock that a migration needs alone.
 */
export async function prepareSchema(client: PostgresClient, login: ServerLogin): Promise<void> {
  const run = (sql: string) => rowsOf(client, sql, login);
  const deadline = milliseconds() + login.patienceMs;
  for (;;) {
    await run(`SELECT pg_advisory_lock_shared(${LOCKS.schema})`);
    if ((await versionOf(run, login.location)) === SCHEMA_VERSION) return;
    await run(`SELECT pg_advisory_unlock_shared(${LOCKS.schema})`);
    if (await migrate(run, login.location)) continue;
    if (milliseconds() > deadline) throw usedByOlder(login.location);
    await sleep(PAUSE_MS);
  }
}

type Run = (sql: string) => Promise<readonly Rows[]>;

/**
 * Runs what is missing, unless others use the database just now. It does not wait for them: they may have run
 * it themselves, and stay.
 */
async function migrate(run: Run, location: string): Promise<boolean> {
  passFailpoint(failpoint("fleet.migrate"));
  await run("BEGIN");
  try {
    const [[[isAlone] = []] = []] = await run(`SELECT pg_try_advisory_xact_lock(${LOCKS.schema})`);
    if (isAlone === "t") await run(missingStatements(await versionOf(run, location)));
    await run("COMMIT");
    return isAlone === "t";
  } catch (error) {
    // A connection that is lost takes nothing more, and its transaction is gone with it.
    await run("ROLLBACK").catch(() => undefined);
    throw error;
  }
}

/** Another process may have been first, so nothing may be missing. */
function missingStatements(version: number): string {
  if (version === SCHEMA_VERSION) return "";
  const first = version === 0 ? `CREATE SCHEMA IF NOT EXISTS drydock; ${VERSION_TABLE}` : "";
  return `${first} ${MIGRATIONS.slice(version).join("")} INSERT INTO migrations (version) VALUES (${SCHEMA_VERSION})`;
}

function usedByOlder(location: string): StateError {
  return new StateError(
    `Hosts with an older Drydock use the fleet's database ${location}, so it can't be updated.`,
    {
      hint: "Stop them, then start the newer version on each.",
    },
  );
}

const PAUSE_MS = 50;
const VERSION_TABLE =
  "CREATE TABLE migrations (version integer PRIMARY KEY, run_at timestamptz NOT NULL DEFAULT now());";

async function versionOf(run: Run, location: string): Promise<number> {
  const [[[ours, tables] = []] = []] =
    await run(`SELECT count(*) FILTER (WHERE relname = 'migrations'), count(*)
    FROM pg_class JOIN pg_namespace n ON n.oid = relnamespace WHERE nspname = 'drydock'`);
  if (ours === "0") {
    if (tables === "0") return 0;
    throw new StateError(`The schema "drydock" in ${location} belongs to another program.`, {
      hint: "Give the fleet a database of its own.",
    });
  }
  const [[[version = "0"] = []] = []] = await run("SELECT max(version) FROM migrations");
  if (Number(version) <= SCHEMA_VERSION) return Number(version);
  throw new StateError(
    `The fleet's database ${location} needs schema version ${version}; this Drydock knows versions up to ${SCHEMA_VERSION}.`,
    { hint: "Use the newer Drydock that the other hosts of the fleet have." },
  );
}
