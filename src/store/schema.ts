import type { DatabaseSync } from "node:sqlite";
import { foreignState, newerState, unloggableState } from "./sqlite-errors.ts";

/**
 * The tables of the SQLite store, and the migration of older databases.
 *
 * The column `record` holds every record whole as JSON text, because JSON keeps lone surrogates, which stand
 * for bytes of file names, and SQLite's text does not. The other columns are copies of single facts to search
 * and sort by, in the form of row-codec.ts. `seq` is the order of the first writing.
 *
 * `user_version` is the number of migrations that were run; `application_id` marks the database as Drydock's.
 * The transaction that runs the migrations sets both. A released migration is never edited; a later one
 * corrects it.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE plans (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX plans_by_id_prefix ON plans (id COLLATE NOCASE);
  CREATE INDEX plans_by_name ON plans (name);
  CREATE INDEX plans_open ON plans (state) WHERE state NOT IN ('applied', 'undone', 'cancelled');

  CREATE TABLE sandboxes (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    plan_id TEXT NOT NULL,
    state TEXT NOT NULL,
    created_at TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX sandboxes_by_plan ON sandboxes (plan_id);
  CREATE INDEX sandboxes_live ON sandboxes (state) WHERE state <> 'CLEANED_UP';

  CREATE TABLE transactions (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    plan_id TEXT NOT NULL,
    phase TEXT NOT NULL,
    started_at TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX transactions_by_plan ON transactions (plan_id);
  CREATE INDEX transactions_unfinished ON transactions (phase) WHERE phase NOT IN ('done', 'aborted');

  CREATE TABLE intents (
    seq INTEGER PRIMARY KEY,
    sandbox_id TEXT NOT NULL,
    kind TEXT NOT NULL,
    location TEXT NOT NULL,
    record TEXT NOT NULL,
    UNIQUE (sandbox_id, kind, location)
  ) STRICT;

  CREATE TABLE history (
    seq INTEGER PRIMARY KEY,
    plan_id TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX history_by_plan ON history (plan_id);

  CREATE TABLE claims (
    key TEXT NOT NULL PRIMARY KEY,
    owner_id TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  `,
  `
  CREATE TABLE checkpoints (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    plan_id TEXT NOT NULL,
    state TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE INDEX checkpoints_by_plan ON checkpoints (plan_id);
  CREATE INDEX checkpoints_unsettled ON checkpoints (state) WHERE state <> 'saved';
  CREATE INDEX transactions_with_undo ON transactions (json_extract(record, '$.finishedAt'))
    WHERE phase = 'done' AND json_extract(record, '$.direction') = 'commit'
      AND coalesce(json_extract(record, '$.undoRecord'), 'discarding') = 'discarding';
  `,
  `
  DROP INDEX plans_open;
  CREATE INDEX plans_open ON plans (state) WHERE state NOT IN ('applied', 'undone', 'cancelled', 'abandoned');
  `,
  `
  CREATE INDEX sandboxes_by_workspace ON sandboxes (record -> '$.ref.metadata.workspace') WHERE state <> 'CLEANED_UP';
  `,
  `
  CREATE INDEX plans_over ON plans (created_at) WHERE state IN ('applied', 'undone', 'cancelled', 'abandoned');
  `,
  // A number of an entry is never given again, also when the entry is gone: cursors of events depend on it.
  `
  ALTER TABLE history RENAME TO history_before;
  DROP INDEX history_by_plan;
  CREATE TABLE history (
    seq INTEGER PRIMARY KEY AUTOINCREMENT,
    plan_id TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  INSERT INTO history SELECT seq, plan_id, record FROM history_before ORDER BY seq;
  DROP TABLE history_before;
  CREATE INDEX history_by_plan ON history (plan_id);
  `,
];

/** The version that this Drydock writes. */
export const SCHEMA_VERSION = MIGRATIONS.length;

/** "dryd" in ASCII. */
const APPLICATION_ID = 0x64727964;

/** Whether the database can be used as it is. Refuses an unusable one, untouched. */
export function isCurrent(db: DatabaseSync, file: string): boolean {
  const version = schemaVersion(db);
  if (version > 0 || hasTables(db)) refuseForeign(db, file);
  if (version > SCHEMA_VERSION) throw newerState(file, version, SCHEMA_VERSION);
  return version === SCHEMA_VERSION && db.prepare("PRAGMA journal_mode").get()?.["journal_mode"] === "wal";
}

/**
 * Brings the database to the newest version, also while other processes do the same. May fail as busy without
 * waiting, because SQLite does not wait where that could be a deadlock; then call it again.
 */
export function migrate(db: DatabaseSync, file: string, migrations: readonly string[] = MIGRATIONS): void {
  const mode = db.prepare("PRAGMA journal_mode = WAL").get();
  if (mode?.["journal_mode"] !== "wal") throw unloggableState(file);
  db.exec("PRAGMA synchronous = FULL");
  db.exec("BEGIN IMMEDIATE");
  try {
    runMissing(db, file, migrations);
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** Reads the version again, because another process may have been first. */
function runMissing(db: DatabaseSync, file: string, migrations: readonly string[]): void {
  const version = schemaVersion(db);
  if (version > migrations.length) throw newerState(file, version, migrations.length);
  for (const migration of migrations.slice(version)) db.exec(migration);
  db.exec(`PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${migrations.length}`);
}

/** Call only after tables or a version were seen: the mark that makes them ours is in the same commit. */
function refuseForeign(db: DatabaseSync, file: string): void {
  if (numberOf(db, "PRAGMA application_id", "application_id") !== APPLICATION_ID) throw foreignState(file);
}

function hasTables(db: DatabaseSync): boolean {
  return numberOf(db, "SELECT count(*) AS tables FROM sqlite_schema", "tables") > 0;
}

function schemaVersion(db: DatabaseSync): number {
  return numberOf(db, "PRAGMA user_version", "user_version");
}

function numberOf(db: DatabaseSync, sql: string, column: string): number {
  return Number(db.prepare(sql).get()?.[column]);
}
