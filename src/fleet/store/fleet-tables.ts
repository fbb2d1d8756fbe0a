/**
 * The tables of a fleet beside its records.
 *
 * - `claims`: those of an operation belong to the process of a host, in an epoch of its lease; those of a
 *   transaction over hosts belong to that until it is over.
 * - `hosts`: a name, the state directory that has it, its last start, and its lease.
 * - `fleet_transactions`: what src/fleet/protocol/transaction-row.ts says of a transaction over hosts, beside
 *   its record. The phase is here too, so that each rule is a condition on one row.
 * - `calls`: the calls to sandboxes of other hosts, and what came of each. Arguments and results are in
 *   `call_pieces`, as text that is cut, because they may be larger than a message should be.
 */
export const FLEET_TABLES = `
  ALTER TABLE claims ADD COLUMN host text COLLATE "C", ADD COLUMN epoch integer,
    ADD COLUMN transaction text COLLATE "C";
  CREATE INDEX claims_by_transaction ON claims (transaction) WHERE transaction IS NOT NULL;
  CREATE INDEX claims_by_host ON claims (host) WHERE host IS NOT NULL;

  CREATE TABLE hosts (
    name text COLLATE "C" PRIMARY KEY,
    directory text NOT NULL,
    start text,
    notes bigint NOT NULL DEFAULT 0,
    epoch integer NOT NULL DEFAULT 0,
    until timestamptz,
    started_at timestamptz,
    joined_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    drydock text NOT NULL DEFAULT '',
    contract integer NOT NULL DEFAULT 0,
    lend text NOT NULL DEFAULT '[]',
    is_drained boolean NOT NULL DEFAULT false
  );

  CREATE TABLE fleet_transactions (
    id text COLLATE "C" PRIMARY KEY,
    plan_id text COLLATE "C" NOT NULL,
    phase text COLLATE "C" NOT NULL,
    direction text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    driver_host text COLLATE "C" NOT NULL,
    driver_epoch integer NOT NULL,
    driver_process text COLLATE "C" NOT NULL,
    decision text,
    given_up boolean NOT NULL DEFAULT false,
    phase_at timestamptz NOT NULL DEFAULT clock_timestamp()
  );
  CREATE INDEX fleet_transactions_open ON fleet_transactions (plan_id) WHERE phase NOT IN ('done', 'aborted');
  CREATE INDEX fleet_transactions_over ON fleet_transactions (phase_at) WHERE phase IN ('done', 'aborted');

  CREATE TABLE calls (
    key text COLLATE "C" PRIMARY KEY,
    host text COLLATE "C" NOT NULL,
    sender text COLLATE "C" NOT NULL,
    envelope text NOT NULL,
    state text NOT NULL DEFAULT 'queued',
    is_repeatable boolean NOT NULL,
    sent_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    deadline timestamptz NOT NULL,
    taken_by text,
    taken_at timestamptz,
    answer text
  );
  CREATE INDEX calls_open ON calls (host, sent_at) WHERE state IN ('queued', 'taken');
  CREATE INDEX calls_by_age ON calls (sent_at);

  CREATE TABLE call_pieces (
    key text COLLATE "C" NOT NULL,
    kind text NOT NULL,
    position integer NOT NULL,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    content text NOT NULL,
    PRIMARY KEY (key, kind, position)
  );
  CREATE INDEX call_pieces_by_age ON call_pieces (written_at);
`;

/**
 * A host reads its own rows, however many others have. The host of a row that is there already is found in
 * its record. Where that has half a pair or NUL, PostgreSQL can't look into it, but at its text.
 */
export const HOST_COLUMNS = `
  CREATE FUNCTION host_in(record text, VARIADIC path text[]) RETURNS text LANGUAGE plpgsql AS $host$ BEGIN
    RETURN record::json #>> path;
  EXCEPTION WHEN OTHERS THEN
    RETURN substring(record FROM '"host":"([A-Za-z0-9.-]+)"');
  END $host$;

  ALTER TABLE plans ADD COLUMN host text COLLATE "C";
  UPDATE plans SET host = host_in(record, 'host');
  DROP INDEX plans_over;
  CREATE INDEX plans_over ON plans (host, created_at)
    WHERE state IN ('applied', 'undone', 'cancelled', 'abandoned');
  CREATE INDEX plans_unfinished ON plans (host)
    WHERE state IN ('creating', 'adding', 'restoring', 'updating', 'closing');

  ALTER TABLE sandboxes ADD COLUMN host text COLLATE "C";
  UPDATE sandboxes SET host = host_in(record, 'ref', 'host');
  DROP INDEX sandboxes_by_workspace;
  CREATE INDEX sandboxes_of_host ON sandboxes (host, workspace) WHERE state <> 'CLEANED_UP';

  ALTER TABLE transactions ADD COLUMN host text COLLATE "C";
  UPDATE transactions SET host = host_in(record, 'owner', 'host');
  DROP INDEX transactions_with_undo;
  CREATE INDEX transactions_with_undo ON transactions (host, finished_at)
    WHERE phase = 'done' AND direction = 'commit' AND coalesce(undo_record, 'discarding') = 'discarding';
  DROP INDEX transactions_unfinished;
  CREATE INDEX transactions_unfinished ON transactions (host, phase) WHERE phase NOT IN ('done', 'aborted');

  ALTER TABLE intents ADD COLUMN host text COLLATE "C";
  UPDATE intents SET host = host_in(record, 'owner', 'host');
  CREATE INDEX intents_of_host ON intents (host);

  DROP FUNCTION host_in;
  DROP INDEX claims_by_host;
  CREATE INDEX claims_by_host ON claims (host) WHERE transaction IS NULL;
`;
