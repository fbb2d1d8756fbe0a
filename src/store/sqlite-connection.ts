import { DatabaseSync, type StatementSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { bytesFromPath, displayPath } from "../core/paths/byte-path.ts";
import type { Shape } from "../core/values/shape.ts";
import { isThere } from "../system/data/existence.ts";
import { failpoint, passFailpoint } from "../system/failpoints.ts";
import { milliseconds } from "../system/milliseconds.ts";
import { freeReserve, keepReserve } from "../system/state/reserve.ts";
import { ensureStateFile, ensureStateFolder } from "../system/state/state-folder.ts";
import {
  forgetStateIdentity,
  hasStateIdentity,
  recordStateIdentity,
} from "../system/state/state-identity.ts";
import { isCurrent, migrate, SCHEMA_VERSION } from "./schema.ts";
import { corruptState, emptyState, isBusy, newerState, storeError } from "./sqlite-errors.ts";
import type { Durability } from "./store.ts";

/** The name of the database inside the state directory. */
const DATABASE_NAME = "drydock.db";

/** Writes take milliseconds: a longer wait means that another process hangs. */
const DEFAULT_BUSY_TIMEOUT_MS = 20_000;

const PAUSE_BETWEEN_TRIES_MS = 10;

export interface SqliteStoreOptions {
  /** The absolute path (see byte-path.ts) of the state directory. Made if it is missing. */
  readonly stateDir: string;
  /** The caller is going to free space: on a full disk it may use the reserve (reserve.ts). */
  readonly makesRoom?: boolean;
  /** How long to wait for other processes that write. Default: 20 seconds. */
  readonly busyTimeoutMs?: number;
}

/**
 * One connection to the database of the state directory.
 *
 * The database is in WAL mode: a commit appends frames to `drydock.db-wal`, each with a checksum over all
 * frames before it, so a power cut always leaves a prefix of the commits. What reaches the disk when:
 * - A durable commit runs with synchronous=FULL and ends with an fsync of the log, which flushes all earlier
 *   frames too, of every process.
 * - An ordered commit runs with synchronous=NORMAL: its frames are written but not flushed. They survive the
 *   death of the process.
 * - The first commit into a new log also flushes the log's header and folder.
 * - A checkpoint (every 1,000 pages and when the last process closes) flushes the log before it writes to the
 *   database, and the database before it reuses the log.
 */
export class SqliteConnection {
  readonly #db: DatabaseSync;
  readonly #file: string;
  readonly #statements = new Map<string, StatementSync>();
  #synchronous: "FULL" | "NORMAL" | undefined;
  #rowsChanged = 0;

  constructor(db: DatabaseSync, file: string) {
    this.#db = db;
    this.#file = file;
  }

  /** The records in the column `record` of a query. A record of another shape is damaged. */
  records<T>(shape: Shape, sql: string, ...values: readonly string[]): T[] {
    return this.#guarded(() =>
      this.#statement(sql)
        .all(...values)
        .map((row) => this.#parsed<T>(shape, row["record"])),
    );
  }

  /** The same, each with the column `seq`. */
  numbered<T>(shape: Shape, sql: string, ...values: readonly string[]): (readonly [number, T])[] {
    return this.#guarded(() =>
      this.#statement(sql)
        .all(...values)
        .map((row) => [Number(row["seq"]), this.#parsed<T>(shape, row["record"])] as const),
    );
  }

  /** The record of the only row, if there is one. */
  record<T>(shape: Shape, sql: string, ...values: readonly string[]): T | undefined {
    return this.records<T>(shape, sql, ...values)[0];
  }

  /** The values in the column `text` of a query. */
  texts(sql: string, ...values: readonly string[]): string[] {
    return this.#guarded(() =>
      this.#statement(sql)
        .all(...values)
        .map((row) => String(row["text"])),
    );
  }

  /** Whether the column `answer` of a query is 1. */
  answers(sql: string): boolean {
    return this.#guarded(() => this.#statement(sql).get()?.["answer"] === 1);
  }

  /** Runs a changing statement; only inside a transaction. */
  run(sql: string, ...values: readonly string[]): void {
    const result = this.#guarded(() => this.#statement(sql).run(...values));
    this.#rowsChanged += Number(result.changes);
  }

  /** Makes all effects of `work` visible together, or none if it throws. */
  transaction<T>(durability: Durability, work: () => T): T {
    return this.#guarded(() => {
      this.#setSynchronous(durability === "durable" ? "FULL" : "NORMAL");
      this.#db.exec("BEGIN IMMEDIATE");
      try {
        this.#refuseNewerSchema();
        this.#rowsChanged = 0;
        const result = work();
        if (durability === "durable" && this.#rowsChanged === 0) this.#touch();
        this.#db.exec("COMMIT");
        return result;
      } catch (error) {
        if (this.#db.isTransaction) this.#db.exec("ROLLBACK");
        throw error;
      }
    });
  }

  /** Frees the database; calling it again does nothing. */
  close(): void {
    if (!this.#db.isOpen) return;
    this.#statements.clear();
    this.#guarded(() => this.#db.close());
  }

  #setSynchronous(mode: "FULL" | "NORMAL"): void {
    if (this.#synchronous === mode) return;
    this.#db.exec(`PRAGMA synchronous = ${mode}`);
    this.#synchronous = mode;
  }

  /** Checked each time: a newer Drydock may have migrated the database while this process had it open. */
  #refuseNewerSchema(): void {
    const version = Number(this.#statement("PRAGMA user_version").get()?.["user_version"]);
    if (version > SCHEMA_VERSION) throw newerState(this.#file, version, SCHEMA_VERSION);
  }

  /**
   * Changes a page, because a commit without one flushes nothing, and earlier ordered writes must reach the
   * disk too.
   */
  #touch(): void {
    this.#db.exec(`PRAGMA user_version = ${SCHEMA_VERSION}`);
  }

  #statement(sql: string): StatementSync {
    let statement = this.#statements.get(sql);
    if (statement === undefined) {
      statement = this.#db.prepare(sql);
      this.#statements.set(sql, statement);
    }
    return statement;
  }

  #parsed<T>(shape: Shape, text: unknown): T {
    let record: T;
    try {
      record = JSON.parse(String(text)) as T;
    } catch (error) {
      throw corruptState(this.#file, error);
    }
    const problem = shape(record, "");
    if (problem === undefined) return record;
    throw corruptState(this.#file, new Error(`a record in it is not as Drydock writes it: ${problem}`));
  }

  #guarded<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw storeError(error, this.#file);
    }
  }
}

/** Opens the database of the state directory, after making it or bringing it to the current schema. */
export async function openConnection(options: SqliteStoreOptions): Promise<SqliteConnection> {
  const path = `${options.stateDir}/${DATABASE_NAME}`;
  const file = displayPath(path);
  const timeout = options.busyTimeoutMs ?? DEFAULT_BUSY_TIMEOUT_MS;
  ensureStateFolder(failpoint("store.folder"), options.stateDir);
  if (options.makesRoom === true) freeReserve(options.stateDir);
  const isKnown = hasStateIdentity(options.stateDir);
  // A missing database means that the user moved it away to start over.
  const startsOver = isKnown && !isThere(path);
  if (startsOver) forgetStateIdentity(failpoint("store.start-over"), options.stateDir);
  if (ensureStateFile(failpoint("store.file"), path) === 0 && isKnown && !startsOver) throw emptyState(file);
  passFailpoint(failpoint("store.open"));
  const db = new DatabaseSync(bytesFromPath(path), { open: false, timeout });
  try {
    db.open();
    if (!isCurrent(db, file)) await migrateInTurn(db, file, timeout);
    if (!isKnown || startsOver) recordStateIdentity(failpoint("store.identity"), options.stateDir);
    if (options.makesRoom !== true) keepReserve(options.stateDir);
    return new SqliteConnection(db, file);
  } catch (error) {
    if (db.isOpen) db.close();
    throw storeError(error, file);
  }
}

/** Migrates while other processes may do the same to a fresh state directory. */
async function migrateInTurn(db: DatabaseSync, file: string, timeout: number): Promise<void> {
  passFailpoint(failpoint("store.migrate"));
  const deadline = milliseconds() + timeout;
  for (;;) {
    try {
      migrate(db, file);
      return;
    } catch (error) {
      if (!isBusy(error) || milliseconds() > deadline) throw error;
    }
    await sleep(PAUSE_BETWEEN_TRIES_MS);
  }
}
